"""Tune a scikit-learn classifier: the best accuracy, with 50 ms of CPU time per training on average.

    python examples/tune_training.py            # about half a minute; --quick for a few seconds

Each round trains on another random part of the data and is scored on the rest, so that both metrics are noisy.
The rounds are stored in training.db, so running it again continues where it stopped.
"""

import sys
import time
from statistics import mean

from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split

import softbandit as sb

LIMIT = 50  # milliseconds per training, on average
DIGITS = load_digits(return_X_y=True)


def train(values, seed):
    """Return the accuracy on data left out, and the milliseconds that the training took."""
    X, X_test, y, y_test = train_test_split(*DIGITS, random_state=seed)
    model = ExtraTreesClassifier(**values, random_state=seed)
    started = time.process_time()  # which other programs do not disturb
    model.fit(X, y)
    milliseconds = 1000 * (time.process_time() - started)
    return {"accuracy": model.score(X_test, y_test), "fit_ms": milliseconds}


def run(rounds):
    """Return the tuner after that many rounds."""
    tuner = sb.Tuner(
        "training",
        space={
            "n_estimators": sb.LogInteger(4, 128),
            "max_features": sb.LogFloat(0.05, 1),
            "min_samples_leaf": sb.Integer(1, 8),
            "criterion": sb.Categorical(["gini", "entropy"]),
        },
        maximize="accuracy",
        limits=[sb.Mean("fit_ms", at_most=LIMIT)],
        baseline={"n_estimators": 10, "max_features": 0.125, "min_samples_leaf": 1, "criterion": "gini"},
        store="training.db",
    )
    for _ in range(rounds):
        with tuner.round() as round:
            round.report(**train(round.values, seed=round.id))
    return tuner


def main():
    tuner = run(12 if "--quick" in sys.argv else 100)
    rows = [row for row in tuner.history() if row.metrics]
    parts = {"baseline": [row for row in rows if row.kind == "baseline"], "all rounds": rows, "last 50": rows[-50:]}
    for name, part in parts.items():
        accuracy, fit_ms = (mean(row.metrics[metric] for row in part) for metric in ("accuracy", "fit_ms"))
        print(f"{name:10} {accuracy:.1%} correct, trained in {fit_ms:2.0f} ms")
    print(f"The limit is {LIMIT} ms on average.\n\n{tuner}")


if __name__ == "__main__":
    main()
