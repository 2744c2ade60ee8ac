"""`softbandit` on the command line, and `python -m softbandit`."""

import os
import sys


def main() -> None:
    try:
        from softbandit.cli import app
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.exit("The command line needs typer and rich. Install them with: pip install 'softbandit[cli]'")
    try:
        app()
    except SystemExit as ended:
        if ended.code == 130 and "jax" in sys.modules:
            # What JAX has under way when it is interrupted would crash an interpreter that ends in the usual way.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(130)
        raise


if __name__ == "__main__":
    main()
