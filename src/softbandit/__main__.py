"""`softbandit` on the command line, and `python -m softbandit`."""

import os
import platform
import sys


def main() -> None:
    """Run the command line, or say what to install for it."""
    try:
        from softbandit.cli import app
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.exit("The command line needs typer and rich. Install them with: pip install 'softbandit[cli]'")
    _keep_compiled_programs()
    try:
        app()
    except SystemExit as end:
        if end.code == 130 and "jax" in sys.modules:
            # The interpreter would crash on exit if JAX were interrupted in the middle of a computation.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(130)
        raise


def _keep_compiled_programs() -> None:
    """Let JAX, here and in worker processes, keep compiled programs in the user's cache, unless another place is set.

    They are for one processor, so each machine of those that share a home has a folder.
    """
    from softbandit.data.sources import cache_folder

    folder = cache_folder() / "compiled" / platform.node()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # JAX would warn at each program
        return
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


if __name__ == "__main__":
    main()
