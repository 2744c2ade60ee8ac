"""Run a benchmark and keep what it prints: `python benchmarks/record.py peers benchmarks/peers.py --repeats 5`

The output goes to benchmarks/results/peers.txt, after a line for the command and one for the machine; report.py puts it
into docs/performance.md.
"""

import os
import shlex
import subprocess
import sys

import machine
from tables import RESULTS

THREADS = "OPENBLAS_NUM_THREADS"  # the one environment variable that some figures are measured with


def main():
    name, script, *arguments = sys.argv[1:]
    with subprocess.Popen([sys.executable, script, *arguments], stdout=subprocess.PIPE, text=True) as run:
        lines = []
        for line in run.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if run.returncode:
        sys.exit(run.returncode)
    threads = [f"{THREADS}={os.environ[THREADS]}"] if THREADS in os.environ else []
    command = shlex.join([*threads, "python", script, *arguments])
    # Ask for the device only now: holding it earlier would have left the benchmark without its memory.
    where = ", ".join(filter(None, [machine.accelerator(), machine.name()]))
    RESULTS.mkdir(exist_ok=True)
    text = "".join(lines).strip("\n")
    (RESULTS / f"{name}.txt").write_text(f"{command}\n{where}; {machine.versions()}\n\n{text}\n")


if __name__ == "__main__":
    main()
