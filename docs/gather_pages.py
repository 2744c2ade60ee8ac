"""Gather the pages of the site in out/pages: docs/, the notebooks as Markdown, the examples, and whatever they link to.

`make docs` runs this before it builds the site. A program or a folder of files becomes a page that shows its source.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from nbconvert import MarkdownExporter

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PAGES = ROOT / "out" / "pages"
LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")
ASSETS = (".png", ".svg", ".css")
LANGUAGES = {".py": "python", ".toml": "toml", ".sh": "sh"}


def main() -> None:
    shutil.rmtree(PAGES, ignore_errors=True)
    waiting = [path for path in DOCS.rglob("*") if path.suffix in {".md", ".ipynb", *ASSETS}]
    waiting += [ROOT / "CHANGELOG.md", *(ROOT / "examples").glob("*.*")]
    done: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in done:
            done.add(path)
            waiting += write_page(path)


def write_page(path: Path) -> list[Path]:
    """Write one page or asset, and return the files that it links to."""
    page = page_of(path)
    page.parent.mkdir(parents=True, exist_ok=True)
    if page.suffix != ".md":
        shutil.copyfile(path, page)
        return []
    text = markdown(path, page)
    text = text.replace("<details>", '<details markdown="1">')  # GitHub shows the tables in there without it
    page.write_text(LINK.sub(lambda link: relink(link[0], path), text))
    return list(linked(text, path))


def page_of(path: Path) -> Path:
    """Return the file in out/pages for one of the repository."""
    page = PAGES / path.relative_to(DOCS if path.is_relative_to(DOCS) else ROOT)
    if path.suffix == ".ipynb":
        return page.with_suffix(".md")
    return page if page.suffix in {".md", *ASSETS} else page.with_name(page.name + ".md")


def linked(text: str, path: Path) -> Iterator[Path]:
    """Return the files and folders that a text links to, and that exist."""
    targets = ((path.parent / target).resolve() for target in LINK.findall(text))
    return (target for target in targets if target.exists())


def relink(target: str, path: Path) -> str:
    """Return a link of a file as it must be in its page; a link to nothing stays, for the build to report."""
    goal = (path.parent / target).resolve()
    return os.path.relpath(page_of(goal), page_of(path).parent) if goal.exists() else target


def markdown(path: Path, page: Path) -> str:
    """Return the text of a page, with links as they are in the repository."""
    if path.suffix == ".ipynb":
        return notebook(path, page)
    return path.read_text() if path.suffix == ".md" else source(path)


def notebook(path: Path, page: Path) -> str:
    """Return a notebook as Markdown, with its images beside the page."""
    text, resources = MarkdownExporter().from_filename(str(path))
    for name, image in resources["outputs"].items():
        renamed = f"{path.stem}_{name}"
        (page.parent / renamed).write_bytes(image)
        text = text.replace(f"]({name})", f"]({renamed})")
    return str(text)


def source(path: Path) -> str:
    """Return a page that shows a program, or every file of a folder."""
    files = sorted(path.glob("*.*")) if path.is_dir() else [path]
    blocks = (f"```{LANGUAGES.get(file.suffix, 'text')}\n{file.read_text()}```\n" for file in files)
    titles = ("" if file == path else f"## {file.name}\n\n" for file in files)
    return f"# {path.relative_to(ROOT)}\n\n" + "\n".join(map(str.__add__, titles, blocks))


if __name__ == "__main__":
    main()
