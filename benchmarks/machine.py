"""What a figure was measured on: processor, device, versions, caches and free memory."""

import platform
import re
import shlex
import subprocess
import sys
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import softbandit
from softbandit.simulation.engines import cores

CPU = "CPU"
GPU_CACHES = {"NVIDIA H200": 60 * 2**20}  # bytes of L2, as its driver reports them: JAX does not say


@lru_cache(maxsize=1)
def accelerator():
    """JAX's name for the accelerator that it runs on; None for a CPU, or without JAX."""
    try:
        import jax
    except ModuleNotFoundError:
        return None
    return None if jax.default_backend() == "cpu" else jax.devices()[0].device_kind


def device(engine):
    return accelerator() or CPU if engine == "jax" else CPU


def name():
    """The processor and how many cores of it this program may use."""
    return f"{_processor()}, {cores()} cores"


def slug():
    """A part of a file's name: the accelerator, or else the processor."""
    return re.sub(r"\W+", "-", (accelerator() or name()).lower())


def versions():
    """Those that bear on speed, "; " between them: a cell of a CSV file."""
    others = [f"{package} {_version(package)}" for package in ("numpy", "jax")]
    own = f"softbandit {softbandit.__version__}{_commit()}"
    return "; ".join([own, *others, f"Python {platform.python_version()}"])


@lru_cache(maxsize=1)
def _commit():
    """The commit that the figures are of, where git knows it; + where the library's source differs from it."""
    git = ["git", "-C", str(Path(__file__).parent.parent)]
    try:
        name = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout
        same = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src"], check=False).returncode == 0
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f" ({name.strip()}{'' if same else '+'})"


def command():
    """How this program was called, from the repository's root; without what has no bearing on its figures."""
    script, line = Path(sys.argv[0]), shlex.join(sys.argv[1:])
    line = re.sub(r"--resume ?|--out[ =]\S+ ?", "", line)
    return f"python {script.parent.name}/{script.name} {line}".strip()


def free_bytes(engine):
    """Half of the memory that is free; on an accelerator all that JAX's allocator has left."""
    if device(engine) == CPU:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) // 2
    import jax

    stats = jax.devices()[0].memory_stats()
    return stats["bytes_limit"] - stats["bytes_in_use"]


def cache_bytes(device):
    """The largest cache of the CPU or the accelerator; 0 where it is not known."""
    if device != CPU:
        return GPU_CACHES.get(device, 0)
    sizes = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    return max((1024 * int(size.read_text().strip("K\n")) for size in sizes), default=0)


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _version(package):
    try:
        return version(package)
    except ModuleNotFoundError:
        return "none"
