"""`softbandit` on the command line, and `python -m softbandit`."""

import sys


def main() -> None:
    try:
        from softbandit.cli import app
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.exit("The command line needs typer and rich. Install them with: pip install 'softbandit[cli]'")
    app()


if __name__ == "__main__":
    main()
