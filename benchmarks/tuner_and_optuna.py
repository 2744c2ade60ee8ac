"""The same job with a Tuner and with Optuna, for docs/tuner_and_optuna.md. Needs optuna.

    python benchmarks/tuner_and_optuna.py [SEEDS]

A stream processor, Apache Storm, is tuned while it serves: as much throughput as possible, with a mean latency of at
most 50 ms over 300 rounds. What a configuration does was measured (SS-E); noise of 5% is added, and a request is
given up after a second. Writes results/tuner_and_optuna.csv, one row per run, and the parts of the page.
"""

import contextlib
import inspect
import sys
import tempfile
import time
import warnings
from statistics import mean

import numpy as np
import report
import tables

import softbandit as sb

ROUNDS = 300
LIMIT = 50  # milliseconds
GIVEN_UP = 1000
NOISE = 0.05
KEPT = 1.01  # a mean of 300 rounds is known to within 1%
FILE, PAGE = tables.RESULTS / "tuner_and_optuna.csv", report.DOCS / "tuner_and_optuna.md"
COLUMNS = ("way", "seed", "throughput", "latency_ms", "kept_throughput", "kept_latency_ms", "cpu_ms_per_round")


class Storm:
    """The measured system: a call runs it for a round. `rounds` has the true metrics of each."""

    def __init__(self, seed):
        table = sb.data.load_configurations("SS-E")
        metrics = zip(table.metric("Throughput+"), np.minimum(table.metric("Latency-"), GIVEN_UP), strict=True)
        self.true = dict(zip(map(tuple, table.settings.astype(int).tolist()), metrics, strict=True))
        self.rng, self.rounds = np.random.default_rng(seed), []

    def __call__(self, max_spout, splitters, counters):
        throughput, latency = self.at(max_spout, splitters, counters)
        self.rounds.append((throughput, latency))
        factors = np.exp(NOISE * self.rng.standard_normal(2))
        return {"throughput": throughput * factors[0], "latency_ms": latency * factors[1]}

    def at(self, max_spout, splitters, counters):
        return self.true[max_spout, splitters, counters]


def with_tuner(run_storm, seed):
    tuner = sb.Tuner(
        "storm",
        space={
            "max_spout": sb.Ordinal([1, 10, 100, 1000, 10_000, 100_000, 1_000_000]),
            "splitters": sb.Integer(1, 6),
            "counters": sb.Integer(1, 18),
        },
        maximize="throughput",
        limits=[sb.Mean("latency_ms", at_most=LIMIT)],
        store="storm.db",
        seed=seed,
    )
    for _ in range(ROUNDS):
        with tuner.round() as round:
            round.report(**run_storm(**round.values))
    return tuner.recommend().values


def with_optuna(run_storm, seed, trials=ROUNDS):
    import optuna

    def values(trial):
        return {
            "max_spout": 10 ** trial.suggest_int("log_max_spout", 0, 6),
            "splitters": trial.suggest_int("splitters", 1, 6),
            "counters": trial.suggest_int("counters", 1, 18),
        }

    def objective(trial):
        metrics = run_storm(**values(trial))
        trial.set_constraint("latency", metrics["latency_ms"] - LIMIT)
        return metrics["throughput"]

    study = optuna.create_study(
        study_name="storm",
        storage="sqlite:///storm.db",
        load_if_exists=True,
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=seed),
    )
    study.optimize(objective, n_trials=trials)
    return values(optuna.trial.FixedTrial(study.best_params))


def with_optuna_then_best(run_storm, seed):
    """Search for half of the rounds, then run the best trial."""
    best = with_optuna(run_storm, seed, ROUNDS // 2)
    for _ in range(ROUNDS // 2):
        run_storm(**best)
    return best


WAYS = {
    "Tuner": with_tuner,
    "Optuna": with_optuna,
    "Optuna for half of the rounds, then its best trial": with_optuna_then_best,
}


def result(way, seed):
    """Return the figures of a run, all of them without noise."""
    storm = Storm(seed)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        started = time.process_time()
        kept = WAYS[way](storm, seed)
        cpu = time.process_time() - started
    figures = (*np.mean(storm.rounds, axis=0), *storm.at(**kept), 1000 * cpu / ROUNDS)
    return dict(zip(COLUMNS, (way, seed, *figures), strict=True))


def run(seeds):
    quiet()
    tables.start(FILE, COLUMNS)
    for seed in range(seeds):
        for way in WAYS:
            row = result(way, seed)
            tables.append(FILE, {name: f"{v:.6g}" if isinstance(v, float) else v for name, v in row.items()})


def quiet():
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)


def page(text):
    """Return the page with its table and programs as they are now."""
    programs = {"tuner": with_tuner, "optuna": with_optuna}
    parts = {name: f"```py\n{inspect.getsource(program)}```\n" for name, program in programs.items()}
    return report.replace_parts(text, parts | {"figures": table(tables.read(FILE))})


def table(rows):
    runs = len({row["seed"] for row in rows})
    titles = (
        "throughput",
        "mean latency",
        "limit kept",
        "to keep: throughput",
        "latency",
        "limit kept",
        "CPU per round",
    )
    lines = [[f"{runs} runs each", *titles], ["---", *["--:"] * len(titles)], known_in_advance()]
    for way in WAYS:
        runs = [{name: float(row[name]) for name in COLUMNS[2:]} for row in rows if row["way"] == way]
        lines.append([way, *cells(runs)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cells(runs):
    """Return the means over runs, and how many of them kept the limit."""
    kept = {name: sum(run[name] <= KEPT * LIMIT for run in runs) for name in ("latency_ms", "kept_latency_ms")}
    throughput, latency, *of_kept, cpu = (mean(run[name] for run in runs) for name in COLUMNS[2:])
    yield from (f"{throughput:,.0f}", f"{latency:.0f} ms", f"{kept['latency_ms']} of {len(runs)}")
    yield from (f"{of_kept[0]:,.0f}", f"{of_kept[1]:.0f} ms", f"{kept['kept_latency_ms']} of {len(runs)}")
    yield f"{cpu:.0f} ms"


def known_in_advance():
    """Return the line of the best mixture of configurations, and of the best single one."""
    throughput, latency = np.array([*Storm(0).true.values()]).T
    mixture = sb.randomized_optimum(throughput, latency - LIMIT).value
    best = np.where(latency <= LIMIT, throughput, 0).argmax()
    single = (f"{throughput[best]:,.0f}", f"{latency[best]:.0f} ms")
    return ["all known in advance", f"{mixture:,.0f}", f"{LIMIT} ms", "", *single, "", ""]


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
    PAGE.write_text(page(PAGE.read_text()))
