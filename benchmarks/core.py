"""Speed, memory and size of the core, on NumPy unless a line says otherwise: `make bench`.

Machines are noisy, so speed is a ratio to plain.py, timed in turns with it in the same run.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import plain
from stopwatch import seconds

import softbandit as sb

ROOT = Path(__file__).parent.parent
NAMES = {"ucb": "CKB-UCB", "rand": "CKB-Rand", "ts": "CKB-TS"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", default=["rounds", "growth", "arms", "memory", "light"])
    for part in parser.parse_args().part:
        print(f"\n{PARTS[part].__doc__}")
        PARTS[part]()


def rounds():
    """Microseconds per trial-round: 100 arms, squared exponential 0.2, 50 trials (median of 5 turns)."""
    problem = sb.problems.rkhs(seed=3)
    print(f"{'':10}{'softbandit':>12}{'plain, shared k':>17}{'ratio':>7}{'plain, as written':>19}{'ratio':>7}")
    for explore, name in NAMES.items():
        policy = sb.CKB(**problem.settings(), horizon=1000, explore=explore)
        turns = []
        for seed in range(5):
            ours = seconds(partial(sb.simulate, policy, problem, 50, seed, engine="numpy")) / 50_000
            shared, written = (seconds(plain.run, problem, explore, 1000, seed, same) / 1000 for same in (True, False))
            turns.append((ours, shared, written))
        ours, shared, written = 1e6 * np.median(turns, axis=0)
        print(f"{name:10}{ours:12.2f}{shared:17.1f}{shared / ours:6.1f}x{written:19.1f}{written / ours:6.1f}x")


def growth():
    """Cost of late rounds: rounds 5,001-10,000 over rounds 1-5,000, 50 trials (median of 3)."""
    problem = sb.problems.rkhs(seed=3)
    for explore, name in NAMES.items():
        policy = sb.CKB(**problem.settings(), horizon=10_000, explore=explore)
        print(f"{name:10}{median(late_over_early(policy, problem, seed) for seed in range(3)):6.2f}x")


def late_over_early(policy, problem, seed):
    done, times = [0], [time.perf_counter()]

    def progress(rounds):
        done.append(done[-1] + rounds)
        times.append(time.perf_counter())

    sb.simulate(policy, problem, trials=50, seed=seed, engine="numpy", progress=progress)
    early, late = (np.diff(np.interp(ends, done, times))[0] for ends in ([0, 5000], [5000, 10_000]))
    return late / early


def arms():
    """An agent on 100,000 arms in 2 dimensions, squared exponential 0.3: milliseconds (median of 20 rounds)."""
    X = np.random.default_rng(0).random((100_000, 2))
    for explore, name in NAMES.items():
        started = time.perf_counter()
        settings = {"reward_bound": 2, "cost_bound": 2, "noise": 0.1, "horizon": 1000, "slater": 0.5}
        agent = sb.Agent(sb.CKB(X, sb.SquaredExponential(0.3), explore=explore, **settings))
        setup = time.perf_counter() - started
        times = [seconds(ask_and_tell, agent) for _ in range(20)]
        rank = agent.policy.model.groups[0].features.rank
        print(f"{name:10}ask + tell {1e3 * median(times):6.1f} ms   (rank {rank}, set up in {setup:.1f} s)")


def ask_and_tell(agent):
    agent.tell(agent.ask(), reward=0.5, cost=-0.1)


def memory():
    """Peak memory of simulate in a separate process, 100 arms: with all columns kept, and with only the arms."""
    print(f"{'':10}{'engine':>8}{'trials':>8}{'rounds':>9}{'kept':>10}{'trace':>10}{'peak':>10}")
    for engine in ("numpy", "jax"):
        for trials, rounds in ((50, 1000), (50, 10_000), (50, 100_000), (1000, 1000)):
            for kept, columns, option in (("all", 6, ""), ("arms", 1, "keep=()")):
                code = MEMORY.format(engine=engine, trials=trials, rounds=rounds, option=option)
                trace, peak = 8 * trials * rounds * columns / 1e6, int(python(code)) / 1e6
                row = f"{engine:>8}{trials:8,}{rounds:9,}{kept:>10}{trace:7.0f} MB{peak:7.0f} MB"
                print(f"{'CKB-UCB':10}{row}", flush=True)


MEMORY = """
import softbandit as sb
problem = sb.problems.rkhs(seed=3)
policy = sb.CKB(**problem.settings(), horizon={rounds})
sb.simulate(policy, problem, trials={trials}, engine="{engine}", {option})
# The high-water mark of this process; ru_maxrss would include the parent's.
print(1024 * next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def light():
    """Time to import the core, and the packages that installing it adds."""
    bare, numpy, ours = (
        median(seconds(python, code) for _ in range(9)) for code in ("pass", "import numpy", "import softbandit")
    )
    print(f"import softbandit adds {ours - bare:.2f} s to Python's start, of which numpy {numpy - bare:.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        pip = [sys.executable, "-m", "pip", "--python", os.path.join(folder, "bin", "python")]
        subprocess.run([*pip, "install", "--quiet", str(ROOT)], check=True, stderr=subprocess.DEVNULL)
        listed = subprocess.run([*pip, "list", "--format=freeze"], check=True, capture_output=True, text=True).stdout
    print("pip install softbandit installs", ", ".join(listed.split()))


def python(code):
    """Run code in a new interpreter and return what it prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


PARTS = {part.__name__: part for part in (rounds, growth, arms, memory, light)}

if __name__ == "__main__":
    main()
