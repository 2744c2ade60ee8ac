"""Tables and figures of docs/decisions.md from the rows of decisions.py.

decision_results.py compares the methods in each cell (problem, rounds).
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import report
import tables
from decision_measures import FIRST, repayable, spread_values, truth
from decision_problems import FAMILY_OF, PROBLEMS, RANDOM
from decision_results import BOUND, Results

import softbandit as sb
from softbandit.domains import Domain

PAGE, CHOICE_PAGE = report.DOCS / "decisions.md", report.DOCS / "which.md"
MEASURED = ("storm", "databases")
LONG = 2000  # rounds, for the fall of the regret
SEEDS = 10  # that a conclusion needs
MOST_NAMED = 6  # of the cells with fewer
TOLD = ("opb", "sgp-ucb", "stageopt")  # a safe arm, which the others must find
CHOICES = {  # methods that users choose from, and what they are called there
    "autopilot": "Autopilot",
    "opb": "OPB, given a safe arm",
    "stageopt": "StageOpt, given a safe arm",
    "sgp-ucb": "SGP-UCB, given a safe arm",
    "botorch-scbo": "BoTorch's SCBO",
    "botorch-logei": "BoTorch's constrained log-EI",
    "optuna-gp": "Optuna's GP sampler",
    "cei": "constrained EI",
    "optuna-tpe": "Optuna's TPE",
    "ckb": "CKB",
    "random": "random",
}
LOWEST, FAMILY_RATIO, PROBLEM_RATIO, KEPT, FALL = 0.8, 1.3, 2.0, 0.95, 0.5  # the targets


class Target(NamedTuple):
    wanted: str
    measured: str
    reached: bool


def write(folder, subject):
    """Write the parts of docs/decisions.md and its figures; print the targets."""
    import decision_plots

    rows = tables.read(folder / "cells.csv")
    decision_plots.ratios(Results(rows)).savefig(report.DOCS / "decisions.png")
    decision_plots.curves(tables.read(folder / "curves.csv")).savefig(report.DOCS / "decisions-runs.png")
    shown = parts(rows, subject)
    PAGE.write_text(report.replace_parts(PAGE.read_text(), shown))
    CHOICE_PAGE.write_text(report.replace_parts(CHOICE_PAGE.read_text(), choice_parts(rows)))
    print(shown["targets"], shown["targets-alike"], PAGE, sep="\n")


def parts(rows, subject):
    """Return the parts of the page by name."""
    results, alike = Results(rows), Results([row for row in rows if row["method"] not in TOLD])
    return {
        "scope": scope(results),
        "targets": targets_table(results, subject),
        "targets-alike": targets_table(alike, subject),
        "better": better_table(alike, subject),
        "missed": missed_table(results, subject),
        "methods": methods_table(results),
        "families": families_table(results, subject),
        "problems": problems_table(results.problems()),
        "cells": cell_tables(results),
    }


def choice_parts(rows):
    """Return the part of docs/which.md: the methods that users choose from, the best first."""
    results = Results(rows)
    lines = []
    for method in CHOICES.keys() & set(results.methods):
        *_, everywhere, _, _, _, kept, _, stuck, milliseconds = method_row(results, method, results.families())
        lines.append([CHOICES[method], everywhere, kept, stuck, milliseconds])
    lines.sort(key=lambda line: float(line[1].split()[0]))
    head = ["method", "cost of decisions", "limits kept", "stuck on a wrong arm", "ms per round"]
    return {"decisions": f"{amount(results)}.\n\n" + report.markdown(head, lines, left=1)}


def amount(results):
    """Return in words how much was run."""
    runs = sum(len(seeds) for cell in results.runs.values() for seeds in cell.values())
    return f"{runs:,} runs: {len(results.methods)} methods, {len(results.problems())} problems"


def scope(results):
    """Return in words how much was run, and what of it with fewer seeds than the rest."""
    lengths = sorted({rounds for _, rounds in results.cells})
    fewer = [
        f"{method} on {problem} at T = {rounds:,} ({len(runs)})"
        for problem, rounds in results.cells
        for method, runs in results.runs[problem, rounds].items()
        if len(runs) < SEEDS
    ]
    named = "; ".join(fewer[:MOST_NAMED]) + (f"; and {len(fewer) - MOST_NAMED} more" if len(fewer) > MOST_NAMED else "")
    note = f" Fewer, and provisional: {named}." if fewer else ""
    return f"{amount(results)}, T = {', '.join(f'{T:,}' for T in lengths)}, {SEEDS} seeds.{note}\n"


# -- The targets. --


def targets_table(results, subject):
    lines = [[t.wanted, t.measured, "yes" if t.reached else "**no**"] for t in targets(results, subject)]
    return report.markdown([f"target for {subject}", "measured", "reached"], lines, left=3)


def targets(results, subject):
    """Return each target with what was measured."""
    cells = [cell for cell in results.cells if subject in results.runs[cell]]
    if not cells:
        return []
    return [
        lowest(results, subject, cells),
        ratios(results, subject, "family", FAMILY_RATIO, {f: results.of_family(f) for f in results.families()}),
        ratios(results, subject, "problem", PROBLEM_RATIO, {p: results.of_problem(p) for p in results.problems()}),
        limits_kept(results, subject, cells),
        not_stuck(results, subject, cells),
        regret_falls(results, subject, cells),
    ]


def lowest(results, subject, cells):
    rivals = {cell: len(results.runs[cell].keys() - {subject, BOUND}) for cell in cells}
    compared = [cell for cell in cells if rivals[cell]]
    best = sum(results.ratio(cell, subject) <= 1 for cell in compared)
    counts = fewest_to_most(rivals[cell] for cell in compared)  # few of them are easily beaten
    measured = f"{best} of {len(compared)} (rivals in each: {counts})"
    return Target(f"lowest P in {LOWEST:.0%} of cells", measured, best >= LOWEST * len(compared))


def ratios(results, subject, kind, most, groups):
    """Return the largest ratio to any other method over the groups of cells."""
    worst = {name: results.worst(subject, cells) for name, cells in groups.items()}
    name = max(worst, key=lambda name: np.nan_to_num(worst[name][1]))
    other, ratio = worst[name]
    wanted = f"at most {most:g} times the best method on every {kind}"
    return Target(wanted, f"{ratio:.2f} ({name}, against {other})", ratio <= most)


def limits_kept(results, subject, cells):
    kept = {cell: results.column(cell, subject, "excess") <= 1 for cell in cells}
    everywhere = np.concatenate([*kept.values()])
    possible = np.concatenate([[], *(kept[cell] for cell in cells if can_repay(*cell))])
    wanted = f"mean cost within 3 noise / sqrt(T) of the limit in {KEPT:.0%} of runs"
    where = f"{possible.mean():.1%} of {len(possible)} where {FIRST} average rounds can be repaid"
    return Target(wanted, f"{everywhere.mean():.1%} of {len(everywhere)}; {where}", bool(everywhere.mean() >= KEPT))


def can_repay(name, rounds):
    return repayable(*first_instance(name), rounds)


@cache
def first_instance(name):
    """Return a problem and its truth."""
    problem = PROBLEMS[name](0)
    return problem, truth(problem)


def not_stuck(results, subject, cells):
    stuck = int(sum(results.column(cell, subject, "stuck").sum() for cell in cells))
    return Target("no run stuck on a wrong arm", f"{stuck} runs", stuck == 0)


def regret_falls(results, subject, cells):
    """Return the largest gap of the last third relative to the first; a gap at the noise level counts as fallen."""
    falls = {}
    for cell in cells:
        if FAMILY_OF[cell[0]] in MEASURED and cell[1] == LONG:
            first, last, floor = (results.column(cell, subject, n).mean() for n in ("gap_first", "gap_last", "floor"))
            falls[cell[0]] = 0.0 if last <= floor / LONG else last / first
    wanted = f"regret per round of the last third at most {FALL:g} of the first's, T = {LONG:,}, measured problems"
    if not falls:
        return Target(wanted, "not run", False)
    worst = max(falls, key=falls.get)
    return Target(wanted, f"{falls[worst]:.2f} ({worst})", falls[worst] <= FALL)


# -- Tables. --


def better_table(results, subject):
    """Return the problems on which another method had a lower P, with the best of them and how many times lower."""
    lengths, lines = sorted({rounds for _, rounds in results.cells}), []
    for problem in results.problems():
        texts = []
        for rounds in lengths:
            ratios = results.ratios((problem, rounds), subject)
            best = max(ratios, key=ratios.get, default=None)
            texts.append(f"{best}, {ratios[best]:.2f}" if ratios and ratios[best] > 1 else "")
        if any(texts):
            lines.append([problem, *texts])
    return report.markdown(["problem", *(f"T = {T:,}" for T in lengths)], lines, left=1 + len(lengths))


def missed_table(results, subject):
    """Return how often limits were kept, by the number of rounds, on problems where that was not always so."""
    lengths = sorted({rounds for _, rounds in results.cells})
    kept = {cell: results.column(cell, subject, "excess") <= 1 for cell in results.cells}
    lines = []
    for problem in results.problems():
        shares = [kept.get((problem, rounds), np.array([])) for rounds in lengths]
        if not all(share.all() for share in shares):
            texts = [f"{share.mean():.0%}" if len(share) else "" for share in shares]
            lines.append([problem, report.number(margin_over_noise(problem)), *texts])
    head = ["problem", "margin / noise", *(f"T = {T:,}" for T in lengths)]
    long = {name: kept[name, rounds].all() for name, rounds in results.cells if rounds == LONG}
    small = max((margin_over_noise(name) for name, always in long.items() if not always), default=0.0)
    above = sum(margin_over_noise(name) > small for name in long)
    sentence = (
        f"At T = {LONG:,} the limits were kept in every run on the {above} of {len(long)} problems with a margin of\n"
        f"more than {report.number(small)} standard deviations of the noise."
    )
    return f"{report.markdown(head, lines, left=1)}\n{sentence}\n"


def methods_table(results):
    """Return one row per method: its ratio to the best on each family, and how it kept the limits."""
    families = results.families()
    head = [
        "method",
        *families,
        "all",
        "cells",
        "seeds",
        "lowest",
        "limits kept",
        "rounds over",
        "stuck",
        "ms per round",
    ]
    lines = [[method, *method_row(results, method, families)] for method in results.methods]
    everywhere = head.index("all")
    lines.sort(key=lambda line: float(line[everywhere].split()[0]))
    return report.markdown(head, lines, left=1)


def method_row(results, method, families):
    cells = [cell for cell in results.cells if method in results.runs[cell]]

    def mean(name, of=np.mean):
        return of(np.concatenate([results.column(cell, method, name) for cell in cells]))

    return [
        *(typical_ratio(results, method, results.of_family(family)) for family in families),
        typical_ratio(results, method, results.cells),
        str(len(cells)),
        fewest_to_most(len(results.runs[cell][method]) for cell in cells),
        "" if method == BOUND else f"{np.mean([results.ratio(cell, method) <= 1 for cell in cells]):.0%}",
        f"{mean('excess', lambda x: np.mean(x <= 1)):.0%}",
        f"{mean('over'):.0%}",
        f"{mean('stuck'):.0%}",
        report.number(1e3 * mean("seconds_per_round", np.median)),
    ]


def fewest_to_most(counts):
    """Return a range of counts as text."""
    fewest, *_, most = sorted([*counts] * 2) or [0, 0]
    return f"{fewest} to {most}" if fewest < most else f"{most}"


def typical_ratio(results, method, cells):
    """Return the geometric mean of the ratios to the best, with a star if some of the cells were not run."""
    found = np.array([results.ratio(cell, method) for cell in cells])
    run = found[np.isfinite(found)]
    return f"{np.exp(np.log(run).mean()):.2f}{' *' if len(run) < len(found) else ''}" if len(run) else ""


def families_table(results, subject):
    """Return how the method that is best on all other families does on the one left out, and how the subject does."""
    columns = "its ratio", "on the family", f"{subject}'s ratio", "on the family"
    lines = []
    for family in results.families() if len(results.families()) > 1 else []:
        left_out = results.of_family(family)
        others = [cell for cell in results.cells if cell not in left_out]
        best = best_rival(results, subject, others)
        shown = (best, others), (best, left_out), (subject, others), (subject, left_out)
        lines.append([family, best, *(typical_ratio(results, method, cells) for method, cells in shown)])
    return report.markdown(["family left out", "best on the others", *columns], lines, left=2)


def best_rival(results, subject, cells):
    """Return the method with the lowest ratios, of those that were run in at least half of the cells."""
    logs = {
        m: np.log([results.ratio(cell, m) for cell in cells if m in results.runs[cell]])
        for m in results.methods
        if m not in (subject, BOUND)
    }
    return min((m for m in logs if len(logs[m]) >= len(cells) / 2), key=lambda m: logs[m].mean())


def problems_table(problems):
    """Return what the problems are like; of random ones, the first instance."""
    head = [
        *("problem", "family", "arms", "limits", "feasible", "lambda* / u", "arms in pi*"),
        *("noise / s_g", "margin / noise"),
    ]
    return report.markdown(head, [problem_line(problem) for problem in problems], left=2)


def problem_line(name):
    problem, known = first_instance(name)
    on_space = isinstance(problem.arms, Domain)
    arms = f"a space, d = {problem.arms.dimension}" if on_space else f"{len(problem.arms):,}"
    prices, noise = (known.prices / known.rates).max(), (known.noise[1:] / known.spreads[1:]).max()
    return [
        name + (", random" if name in RANDOM else ""),
        FAMILY_OF[name],
        arms,
        str(problem.constraints),
        f"{100 * (spread_values(problem)[:, 1:] <= 0).all(axis=1).mean():.2g}%",
        report.number(prices),
        str(np.count_nonzero(known.weights)),
        report.number(noise),
        report.number(margin_over_noise(name)),
    ]


def margin_over_noise(name):
    """Return how far the safest mixture stays within its limits, in standard deviations of a measurement."""
    problem, known = first_instance(name)
    return sb.theory.largest_margin(problem.costs / known.noise[1:], problem.contexts).margin


def cell_tables(results):
    """Return one collapsed table per problem: P with its standard error, and the other measures of the longest runs."""
    return "\n".join(
        f"<details><summary>{problem}</summary>\n\n{problem_table(results, problem)}\n</details>\n"
        for problem in results.problems()
    )


def problem_table(results, problem):
    cells = results.of_problem(problem)
    head = ["method", *(f"P, T = {rounds:,}" for _, rounds in cells), "strict", "V", "rounds over", "excess", "top arm"]
    lines = []
    for method in results.methods:
        last = [cell for cell in cells if method in results.runs[cell]][-1:]
        if last:
            means = [results.column(last[0], method, n).mean() for n in ("strict", "violation")]
            shares = [results.column(last[0], method, n).mean() for n in ("over", "excess", "top_share")]
            texts = [f"{shares[0]:.0%}", f"{shares[1]:.2f}", f"{shares[2]:.0%}"]
            lines.append(
                [method, *(mean_and_error(results, c, method) for c in cells), *map(report.number, means), *texts]
            )
    floors = ", ".join(report.number(results.floor(cell)) for cell in cells)
    return report.markdown(head, lines, left=1) + f"\nNoise levels: {floors}.\n"


def mean_and_error(results, cell, method):
    P = results.column(cell, method, "P")
    if not len(P):
        return ""
    error = f" +- {report.number(P.std(ddof=1) / np.sqrt(len(P)))}" if len(P) > 1 else ""
    return f"{report.number(P.mean())}{error}"
