"""The machine that a figure was measured on: processor, device, versions, caches and free memory."""

import platform
import re
import shlex
import subprocess
import sys
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import softbandit
from softbandit.simulation.schedule import cores

CPU = "CPU"
GPU_CACHES = {"NVIDIA H200": 60 * 2**20}  # bytes of L2 as the driver reports them; JAX does not expose them


@lru_cache(maxsize=1)
def accelerator():
    """Return JAX's name for the accelerator it runs on; None on a CPU, or without JAX."""
    try:
        import jax
    except ModuleNotFoundError:
        return None
    return None if jax.default_backend() == "cpu" else jax.devices()[0].device_kind


def device(engine):
    return accelerator() or CPU if engine == "jax" else CPU


def name():
    """Return the processor and how many of its cores this program may use."""
    return f"{_processor()}, {cores()} cores"


def slug():
    """Return part of a file name: the accelerator, or else the processor."""
    return re.sub(r"\W+", "-", (accelerator() or name()).lower())


def versions():
    """Return the versions that affect speed, separated by "; " to fit in a cell of a CSV file."""
    libraries = [f"{package} {_version(package)}" for package in ("numpy", "jax")]
    return "; ".join(
        [f"softbandit {softbandit.__version__}{_commit()}", *libraries, f"Python {platform.python_version()}"]
    )


@lru_cache(maxsize=1)
def _commit():
    """Return the commit being measured, if git knows it, with a + if the library's source differs from it."""
    git = ["git", "-C", str(Path(__file__).parent.parent)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout
        unchanged = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src"], check=False).returncode == 0
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f" ({head.strip()}{'' if unchanged else '+'})"


def command():
    """Return the command that started this program, without options that do not affect its figures."""
    script, line = Path(sys.argv[0]), shlex.join(sys.argv[1:])
    line = re.sub(r"--resume ?|--out[ =]\S+ ?", "", line)
    return f"python {script.parent.name}/{script.name} {line}".strip()


def free_bytes(engine):
    """Return half of the free memory; on an accelerator, all that JAX's allocator has left."""
    if device(engine) == CPU:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) // 2
    import jax

    stats = jax.devices()[0].memory_stats()
    return stats["bytes_limit"] - stats["bytes_in_use"]


def cache_bytes(device):
    """Return the size of the largest cache of the CPU or the accelerator; 0 if unknown."""
    if device != CPU:
        return GPU_CACHES.get(device, 0)
    sizes = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    return max((1024 * int(size.read_text().strip("K\n")) for size in sizes), default=0)


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())


def _version(package):
    try:
        return version(package)
    except ModuleNotFoundError:
        return "none"
