"""`softbandit` on the command line, and `python -m softbandit`."""

import os
import sys


def main() -> None:
    """Run the command line, or say what to install for it."""
    try:
        from softbandit.cli import app
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.exit("The command line needs typer and rich. Install them with: pip install 'softbandit[cli]'")
    try:
        app()
    except SystemExit as end:
        if end.code == 130 and "jax" in sys.modules:
            # The interpreter would crash on exit if JAX were interrupted in the middle of a computation.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(130)
        raise


if __name__ == "__main__":
    main()
