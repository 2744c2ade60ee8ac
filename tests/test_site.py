"""The documentation site: every public name is in the reference, every link leads somewhere, every notebook runs."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import softbandit as sb

ROOT = Path(__file__).parent.parent
REFERENCE = sorted((ROOT / "docs" / "reference").glob("*.md"))
PYTHON = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def public_names():
    """Return softbandit's public names, and those of its public modules in place of the modules."""
    for name in sb.__all__:
        inner = getattr(getattr(sb, name), "__all__", None)
        if inner is not None:
            yield from (f"softbandit.{name}.{part}" for part in inner)
        elif not inspect.ismodule(getattr(sb, name)) and not name.startswith("_"):
            yield f"softbandit.{name}"


def test_every_public_name_has_an_entry_in_the_reference():
    entries = [name for page in REFERENCE for name in re.findall(r"^::: (\S+)$", page.read_text(), flags=re.MULTILINE)]
    assert len(set(entries)) == len(entries)
    documented = {id(object_of(entry)) for entry in entries if not entry.startswith("softbandit.integrations.")}
    assert [name for name in public_names() if id(object_of(name)) not in documented] == []


def object_of(path):
    """Return the object of a name; `sb.suggest_settings` and `sb.theory.suggest_settings` are one, with one entry."""
    value = sb
    for part in path.split(".")[1:]:
        value = getattr(value, part)
    return value


def test_every_public_function_and_class_has_an_example_in_its_docstring_or_on_its_page():
    """Classes of theory and data are left out: they are what functions return."""
    shown = "".join(block for page in REFERENCE for block in re.findall(PYTHON, page.read_text()))
    assert [name for name in public_names() if needs_example(name) and not re.search(rf"\b{last(name)}\b", shown)] == []


def needs_example(name):
    value = object_of(name)
    if not callable(value) or ">>>" in value.__doc__ or "Deprecated" in value.__doc__:
        return False
    return not inspect.isclass(value) or not (
        issubclass(value, Exception) or name.startswith(("softbandit.theory.", "softbandit.data."))
    )


def last(path):
    return path.rpartition(".")[2]


def test_every_figure_of_the_docs_is_in_the_gallery():
    figures = {path.name for pattern in ("*.png", "*.svg") for path in (ROOT / "docs").glob(pattern)}
    assert figures == set(re.findall(r"!\[[^]]*\]\((\S+)\)", (ROOT / "docs" / "gallery.md").read_text()))


@pytest.mark.extra
@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_its_pages_need_no_other_host(tmp_path):
    """MkDocs warns of links and anchors that lead nowhere, and of names in the reference that do not exist."""
    pytest.importorskip("mkdocstrings", reason="needs pip install 'softbandit[docs]'")
    run(ROOT / "docs" / "gather_pages.py")
    run("-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path)
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(REFERENCE)
    for page in pages:
        text = page.read_text()
        assert not re.search(r'<(script|link|img)[^>]+(src|href)="(https?:)?//', text), page
        assert not re.search(r"^\| ?--", text, flags=re.MULTILINE), f"{page} has a table that is not shown as one"


@pytest.mark.extra
def test_both_hosts_build_the_site_that_make_docs_does():
    yaml = pytest.importorskip("yaml", reason="needs pip install 'softbandit[docs]'")
    names = (".readthedocs.yaml", ".github/workflows/docs.yml", "mkdocs.yml")
    read_the_docs, pages, site = (yaml.safe_load((ROOT / name).read_text()) for name in names)
    assert read_the_docs["build"]["jobs"]["pre_build"] == ["python docs/gather_pages.py"]
    assert (ROOT / read_the_docs["mkdocs"]["configuration"]).samefile(ROOT / "mkdocs.yml")
    steps = pages["jobs"]["build"]["steps"]
    assert "make docs" in [step.get("run") for step in steps]
    assert steps[-1]["with"]["path"] == site["site_dir"]


def run(*command):
    """Run a Python program from the repository's root, and fail with what it printed."""
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, *command]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.extra
@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_it_shows(path, tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="needs pip install 'softbandit[docs]'")
    executed = tmp_path / path.name
    run("-m", "nbconvert", "--to", "notebook", "--execute", "--output", executed, path)
    assert printed(nbformat.read(executed, 4)) == printed(nbformat.read(path, 4))


def printed(notebook):
    """Return what each cell prints, warnings included."""
    return [
        [output.text for output in cell.get("outputs", ()) if output.output_type == "stream"] for cell in notebook.cells
    ]
