"""The dual moved by estimates against the dual moved by measured costs: `python benchmarks/feedback.py [--rounds 3000]`

On every kind of problem of the experiments, with the paper's width and the tight one. Mean R_+ and V over the trials.
"""

import argparse
import itertools

import softbandit as sb

PROBLEMS = {
    "rkhs": lambda: sb.problems.rkhs(seed=60_007),
    "rkhs, 3 constraints": lambda: sb.problems.rkhs(seed=60_001, constraints=3),
    "rkhs, heavy tails": lambda: sb.problems.rkhs(seed=60_002, law="student"),
    "sensors": sb.problems.sensors,
    "stocks": sb.problems.stocks,
    "cloud": sb.problems.cloud,
    "wireless": sb.problems.wireless,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3000)
    parser.add_argument("--trials", type=int, default=8)
    options = parser.parse_args()
    columns = list(itertools.product(("theory", "tight"), ("estimate", "measured")))
    print(f"{'':27}" + "".join(f"{width + ', ' + feedback:>24}" for width, feedback in columns))
    for (name, make), explore in itertools.product(PROBLEMS.items(), ("ucb", "ts", "rand")):
        problem = make()
        cells = []
        for width, feedback in columns:
            settings = {"width": width, "dual_feedback": feedback, "explore": explore, "horizon": options.rounds}
            trace = sb.simulate(sb.CKB(**problem.settings() | settings), problem, options.trials, keep=())
            scores = sb.score(trace, problem)
            violation = scores.violation[:, -1].reshape(options.trials, -1).max(axis=1).mean()
            cells.append(f"{scores.strong_regret[:, -1].mean():14,.0f} /{violation:8,.1f}")
        print(f"{name:22}{explore:5}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
