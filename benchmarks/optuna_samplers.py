"""One study in Optuna with TPE, its Gaussian-process sampler and ours: reward, and a limit that holds on average.

OMP_NUM_THREADS=1 python benchmarks/optuna_samplers.py 5    # docs/optuna.md shows what it prints

A service with three parameters earns by the rows that it handles, and its mean latency is to be at most 12 ms. Needs
optuna, and torch for its Gaussian-process sampler, which is left out if torch is missing.
"""

import importlib.util
import sys
import time
import warnings

import numpy as np
import optuna

from softbandit.integrations.optuna import SoftbanditSampler

LIMIT = 12.0  # ms
TRIALS = 100
SAMPLERS = {"TPE": optuna.samplers.TPESampler, "GP": optuna.samplers.GPSampler, "softbandit": SoftbanditSampler}


def service(rng):
    """Return the objective: rows per second, with the latency as a constraint."""

    def objective(trial):
        batch = trial.suggest_int("batch", 1, 64)
        timeout = trial.suggest_float("timeout_ms", 1, 100, log=True)
        codec = trial.suggest_categorical("codec", ["lz4", "zstd"])
        rows = 400 * batch**0.7 * (1.3 if codec == "zstd" else 1.0) + 50 * rng.standard_normal()
        latency = 2 + 0.4 * batch + 0.1 * timeout + 0.5 * rng.standard_normal()
        trial.set_constraint("latency", latency - LIMIT)
        return rows

    return objective


def run(name, seed):
    """Return the measures of one study."""
    study = optuna.create_study(direction="maximize", sampler=SAMPLERS[name](seed=seed))
    start = time.perf_counter()
    study.optimize(service(np.random.default_rng(seed)), n_trials=TRIALS)
    seconds = time.perf_counter() - start
    rows = np.array([trial.value for trial in study.trials])
    latency = LIMIT + np.array([trial.constraints["latency"] for trial in study.trials])
    return {
        "rows": rows.mean(),
        "latency": latency.mean(),
        "above": np.mean(latency > LIMIT),
        "largest": latency.max(),
        "late_rows": rows[-20:].mean(),
        "late_latency": latency[-20:].mean(),
        "ms_per_trial": 1000 * seconds / TRIALS,
    }


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    print(f"{TRIALS} trials, means of {seeds} studies; the limit is a mean latency of 12 ms")
    print("sampler     rows/s  latency  largest  above 12 ms  last 20: rows/s  latency  ms per trial")
    for name in SAMPLERS:
        if name == "GP" and not importlib.util.find_spec("torch"):
            continue
        studies = [run(name, seed) for seed in range(seeds)]
        mean = {measure: np.mean([study[measure] for study in studies]) for measure in studies[0]}
        print(
            f"{name:10} {mean['rows']:7.0f} {mean['latency']:8.2f} {mean['largest']:8.1f} {mean['above']:12.0%}"
            f" {mean['late_rows']:16.0f} {mean['late_latency']:8.2f} {mean['ms_per_trial']:13.0f}"
        )


if __name__ == "__main__":
    main()
