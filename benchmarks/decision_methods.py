"""The methods that decisions.py compares, behind one interface:

    ask(among) -> an arm (its number) or a point; `among` are the arms of the round's context, None for all
    tell(choice, reward, costs)

All get the same: arms in [0, 1] or the space, noisy measurements, limits at a cost of zero. A policy that needs more is
given more than a user knows: outputs in units of their spreads, and `guessed_settings` from the true functions.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from decision_measures import spread_values, truth

import softbandit as sb
from softbandit.backend import drop_single
from softbandit.baselines import make
from softbandit.domains import Domain

FOR_ARMS, FOR_ALL = ("arms",), ("arms", "space")
LEAST_SLATER = 1e-3  # in units of the costs


class Method(NamedTuple):
    build: Callable  # (problem, rounds, seed) -> an object with ask and tell
    domains: tuple[str, ...] = FOR_ARMS
    contexts: bool = False  # it can choose among the arms of a context
    most_rounds: int = 10**9  # longer runs take too long
    told_rounds: bool = True  # if not, a short run is the beginning of a long one
    commits: str = ""  # a method, which it plays for half of the rounds; then the best choice that was measured

    def suits(self, on_space, with_contexts, rounds):
        """Return whether it can run on such a problem, for that long."""
        takes = ("space" if on_space else "arms") in self.domains and (self.contexts or not with_contexts)
        return takes and rounds <= self.most_rounds


# -- Policies of the package. --


class Units(NamedTuple):
    """The units in which a policy gets its outputs: (output - centre) / unit. Costs keep their zero, the limit."""

    centre: float  # of the reward
    unit: np.ndarray  # (1 + m,)
    size: np.ndarray  # (1 + m,): the largest size of each output in these units


def own_units(problem):
    return Units(0.0, np.ones(1 + problem.constraints), np.ones(1 + problem.constraints))


def largest_sizes(problem):
    """Return the units in which no output is larger than 1."""
    values = np.vstack([spread_values(problem), np.column_stack([problem.reward, problem.costs])])
    unit = np.abs(values).max(axis=0)
    return Units(0.0, unit, np.ones(len(unit)))


def spreads(problem):
    """Return the units in which outputs have a spread of 1, and the reward a mean of 0."""
    values = spread_values(problem)
    centre, unit = np.append(values[:, 0].mean(), np.zeros(problem.constraints)), values.std(axis=0)
    everything = np.vstack([values, np.column_stack([problem.reward, problem.costs])])
    return Units(float(centre[0]), unit, np.abs((everything - centre) / unit).max(axis=0))


class Policy:
    """A policy run by an agent, in some units."""

    def __init__(self, policy, seed, units):
        # A simulation continues after an objection (no arm seems feasible, say); an agent would raise it.
        object.__setattr__(policy, "refuted", lambda state: None)
        self.agent, self.units = sb.Agent(policy, seed), units

    def ask(self, among):
        self.decision = self.agent.ask(among)
        return self.decision.x if self.decision.arm is None else self.decision.arm

    def tell(self, choice, reward, costs):
        centre, unit, _ = self.units
        self.agent.tell(self.decision, (reward - centre) / unit[0], drop_single(costs / unit[1:]))


def guessed_settings(problem, rounds, units):
    """Return the settings that a policy with a model needs.

    Bounds are twice the largest size, as the guide has it; the noise is the true one, Slater's margin half of the
    true one, and the kernel the problem's.
    """
    bounds, noise = 2 * units.size, problem.noises / units.unit
    margin = sb.theory.largest_margin(problem.costs / units.unit[1:]).margin
    return {
        "arms": problem.arms,
        "kernel": problem.kernel,
        "reward_bound": float(bounds[0]),
        "cost_bound": drop_single(bounds[1:]),
        "noise": float(noise[0]),
        "cost_noise": drop_single(noise[1:]),
        "horizon": rounds,
        "slater": min(max(margin / 2, LEAST_SLATER), 1.0),
        "constraints": problem.constraints,
    }


def package(name, safe=False, **settings):
    """Return the builder of a policy of the package, with these settings beside the guessed ones."""

    def build(problem, rounds, seed):
        units = spreads(problem)
        passed = guessed_settings(problem, rounds, units) | settings
        if safe:
            costs = problem.costs / units.unit[1:]
            passed["safe"] = int(costs.max(axis=1).argmin())  # the safest arm
            if name == "opb":
                passed["safe_cost"] = drop_single(costs[passed["safe"]])
        return Policy(make(name, **passed), seed, units)

    return build


def old_guide(problem, rounds, seed):
    units = largest_sizes(problem)
    passed = guessed_settings(problem, rounds, units) | {"kernel": guide_kernel(problem), "width_scale": 0.2}
    return Policy(make("ckb-rand", **passed), seed, units)


def guide_kernel(problem):
    """Return Matern(0.2) for features in [0, 1], as the guide has it."""
    if not isinstance(problem.arms, Domain):
        return sb.Matern(0.2)
    return sb.Matern((0.2 * (problem.arms.upper - problem.arms.lower)).tolist())


def autopilot(problem, rounds, seed):
    contexts = {} if problem.contexts is None else {"contexts": problem.contexts}
    policy = sb.Autopilot(problem.arms, constraints=problem.constraints, horizon=rounds, **contexts)
    return Policy(policy, seed, own_units(problem))


# -- Plain methods. --


class UniformlyRandom:
    def __init__(self, problem, rounds, seed):
        self.arms, self.rng = problem.arms, np.random.default_rng(seed)

    def ask(self, among):
        if isinstance(self.arms, Domain):
            return self.arms.at(self.rng.random((1, self.arms.dimension)))[0]
        return int(self.rng.choice(len(self.arms) if among is None else among))

    def tell(self, choice, reward, costs):
        pass


class ExploreThenCommit(UniformlyRandom):
    """Random for T^(2/3) rounds; then the arm with the best measured reward of those that were measured to be feasible.

    With contexts it commits in each context separately.
    """

    def __init__(self, problem, rounds, seed):
        super().__init__(problem, rounds, seed)
        self.exploring, self.choices, self.measured = int(rounds ** (2 / 3)), [], []

    def ask(self, among):
        allowed = [i for i, choice in enumerate(self.choices) if among is None or choice in among]
        if len(self.choices) < self.exploring or not allowed:
            return super().ask(among)
        return self.choices[allowed[best_feasible(np.array([self.measured[i] for i in allowed]))]]

    def tell(self, choice, reward, costs):
        if len(self.choices) < self.exploring:
            self.choices.append(choice)
            self.measured.append(np.append(reward, costs))


def best_feasible(Y):
    """Return the row of Y (n, 1 + m) with the best reward among the feasible ones, or the one that violates least."""
    violation = np.maximum(Y[:, 1:], 0.0).sum(axis=1)
    feasible = violation <= 0
    return int(np.where(feasible, Y[:, 0], -np.inf).argmax() if feasible.any() else violation.argmin())


class Clairvoyant:
    """pi*, with the functions known: always the arm that is furthest behind its share."""

    def __init__(self, problem, rounds, seed):
        self.points = problem.candidates.points if isinstance(problem.arms, Domain) else range(len(problem.arms))
        self.weights = truth(problem).weights
        self.contexts, self.counts = problem.contexts, np.zeros(len(self.weights))

    def ask(self, among):
        allowed = np.arange(len(self.weights)) if among is None else np.asarray(among)
        w = self.weights[allowed]
        behind = w / w.sum() * (self.counts[allowed].sum() + 1) - self.counts[allowed]
        arm = int(allowed[behind.argmax()])
        self.counts[arm] += 1
        return self.points[arm]

    def tell(self, choice, reward, costs):
        pass


# -- Other libraries, imported only if they are used. --


def optuna(sampler):
    def build(problem, rounds, seed):
        from decision_optuna import Optuna

        return Optuna(problem, seed, sampler)

    return build


def botorch(name):
    def build(problem, rounds, seed):
        import decision_botorch

        return getattr(decision_botorch, name)(problem, seed)

    return build


TIGHT = {"width": "tight"}
METHODS = {
    "autopilot": Method(autopilot, FOR_ALL, contexts=True),
    "ckb": Method(package("ckb-rand", **TIGHT, dual_feedback="measured"), FOR_ALL, contexts=True),
    "ckb-ucb": Method(package("ckb-ucb", **TIGHT, dual_feedback="measured"), FOR_ALL, contexts=True),
    "ckb-old": Method(old_guide, FOR_ALL, contexts=True),
    "pdcbo": Method(package("pdcbo", **TIGHT), contexts=True),
    "rpol": Method(package("rpol", **TIGHT), contexts=True),
    "pobo": Method(package("pobo", **TIGHT), contexts=True),
    "config": Method(package("config", **TIGHT), contexts=True),
    "epbo": Method(package("epbo", **TIGHT), contexts=True),
    "cei": Method(package("cei"), contexts=True),
    "cts": Method(package("cts"), contexts=True),
    "optimistic-lp": Method(package("optimistic-lp", **TIGHT), contexts=True),
    "opb": Method(package("opb", safe=True, **TIGHT)),
    "sgp-ucb": Method(package("sgp-ucb", safe=True, **TIGHT)),
    "stageopt": Method(package("stageopt", safe=True, **TIGHT)),
    "optuna-tpe": Method(optuna("tpe"), FOR_ALL, told_rounds=False),
    "optuna-gp": Method(optuna("gp"), FOR_ALL, most_rounds=300, told_rounds=False),
    "botorch-logei": Method(botorch("LogEI"), FOR_ALL, most_rounds=300, told_rounds=False),
    "botorch-scbo": Method(botorch("SCBO"), FOR_ALL, most_rounds=300, told_rounds=False),
    "explore-commit": Method(ExploreThenCommit, FOR_ALL, contexts=True),
    "random": Method(UniformlyRandom, FOR_ALL, contexts=True, told_rounds=False),
    "clairvoyant": Method(Clairvoyant, FOR_ALL, contexts=True, told_rounds=False),
}
for name in ("optuna-tpe", "optuna-gp", "botorch-logei", "botorch-scbo"):
    METHODS[f"{name}-commit"] = METHODS[name]._replace(commits=name)
