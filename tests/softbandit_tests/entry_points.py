"""Every public callable, found by discovery, with arguments that it accepts."""

import contextlib
import copy
import inspect
import tempfile
from functools import cache
from typing import NamedTuple

import numpy as np
from softbandit_tests.examples_of import safest

import softbandit as sb

MODULES = (sb, sb.problems, sb.theory, sb.baselines, sb.data)
POINTS = np.linspace(0, 1, 30)[:, None]


class EntryPoint(NamedTuple):
    name: str
    call: object
    valid: dict  # arguments by name; an entry "**" has further keyword arguments


def discovered():
    """The public functions and classes by their dotted names, without errors, warnings, and what is abstract."""
    named = {f"{module.__name__}.{name}": getattr(module, name) for module in MODULES for name in module.__all__}
    callables = {name: value for name, value in named.items() if inspect.isroutine(value) or inspect.isclass(value)}
    return {name: value for name, value in callables.items() if not _is_no_entry(value)}


def _is_no_entry(value):
    if not inspect.isclass(value):
        return False
    is_protocol = getattr(value, "_is_protocol", False)
    return issubclass(value, BaseException) or inspect.isabstract(value) or is_protocol


RESULTS = {sb.Decision, sb.Fit, sb.DrawCount, sb.Draws, sb.data.Configurations, sb.data.Known, sb.data.Origin}
RESULTS |= {sb.data.Prices, sb.data.Readings, sb.data.Source, sb.problems.Standard}
RESULTS |= {sb.Suggestion}
RESULTS |= {getattr(sb.theory, name) for name in sb.theory.__all__ if inspect.isclass(getattr(sb.theory, name))}
RESULTS -= {sb.theory.Setting, sb.theory.Trial}
"""Records that functions return: they check nothing, and what takes one checks it."""


@cache
def entry_points():
    """The entry points, with valid arguments."""
    valid = _valid_arguments()
    found = {name: value for name, value in discovered().items() if value not in RESULTS}
    missing = [name for name in found if name not in valid and inspect.signature(found[name]).parameters]
    assert not missing, f"valid arguments of {missing}"
    points = [EntryPoint(name, call, valid.get(name, {})) for name, call in found.items()]
    return points + [EntryPoint(name, call, arguments) for name, (call, arguments) in _methods().items()]


@cache
def problem():
    return sb.problems.rkhs(arms=30, noise=0.2, seed=1)


def settings(**further):
    return {**problem().settings(), "horizon": 60, **further}


@cache
def policy():
    return sb.CKB(**settings())


@cache
def trace():
    return sb.simulate(policy(), problem(), trials=2, rounds=5, engine="numpy")


@cache
def factorised():
    return sb.theory.features(problem().kernel, problem().arms)


def trial(**further):
    arguments = {"regularisation": 1.0, "bound": 1.0, "noise": 0.1, "log_term": 3.0, "scale": 1.0, "sign": 1.0}
    return {"features": factorised(), **arguments, "samples": 1000, **further}


def setting():
    arrays = {name: np.ones(2) for name in ("bound", "noise", "gain", "regularisation")}
    numbers = {"confidence": 0.1, "width_scale": 1.0, "slater": 0.5, "slack": 0.1, "rho": 8.0, "dual_bound": 4.0}
    return {"horizon": 100, **arrays, **numbers, "V": np.ones(1), "width": "theory", "measured": False, "search": 0.1}


def bounds():
    return sb.theory.Bounds(-np.ones((2, 4)), np.ones((2, 4)))


def _run(**further):
    """Arguments of simulate and sweep."""
    return {"trials": 1, "seed": 0, "engine": "numpy", **further}


POLICY_OPTIONS = {
    "cost_kernel": None,
    "confidence": 0.1,
    "regularisation": None,
    "width": "theory",
    "width_scale": 1.0,
    "factors": None,
    "ties": "random",
}


def _policies():
    """The arguments of each policy with a model."""
    seed = {"safe": safest(problem())}
    sets = {**seed, "lipschitz": None, "intersect": False, "expanders": "each"}
    dual = {"dual": "projected", "dual_feedback": "estimate", "rho": None, "V": None, "slack": 0.0, "budget": None}
    own = {
        "softbandit.CKB": {"explore": "ucb", "explore_cost": None, **dual},
        "EPBO": {"penalty": 1.0},
        "OPB": {**seed, "safe_cost": -0.5, "inflation": 2.0},
        "PDCBO": {"step": 0.1, "start": 0.1, "slack": 0.0},
        "POBO": {"hard": [0], "V_scale": 1.0, "slack_scale": 1e-4, "growth": 0.05},
        "SGPUCB": {**seed, "initial_rounds": 5},
        "LoSBO": {**seed, "lipschitz": 4.0, "rule": "ucb", "noise_bound": 0.3},
        "SafeBOCP": {**seed, "expanders": "each", "rate": 0.1, "step": 0.5},
        "SafeOpt": sets,
        "StageOpt": {**sets, "stage_rounds": 5},
    }
    for name in ("CONFIG", "GPTS", "GPUCB", "RPOL", "UCBD", "ConstrainedEI", "ConstrainedTS", "OptimisticLP"):
        own[name] = {}
    qualified = {name if "." in name else f"softbandit.baselines.{name}": further for name, further in own.items()}
    narrow = {"softbandit.baselines.ConstrainedTS", "softbandit.baselines.SafeBOCP"}
    return {
        name: settings(**POLICY_OPTIONS, **further) | ({"width": 1.0} if name in narrow else {})
        for name, further in qualified.items()
    }


def _problems():
    noise = {"noise": 0.1, "reward_bound": 1.0, "cost_bound": 1.0, "slater": 0.5, "name": "a", "source": "b"}
    optional = {"law": sb.problems.UniformNoise(), "cost_noise": None}
    finite = {"arms": POINTS, "kernel": sb.Matern(0.3), "reward": POINTS[:, 0], "cost": POINTS[:, 0] - 0.5}
    searched = {"arms": sb.Box(0, 1), "kernel": sb.Matern(0.3), "function": lambda X: np.hstack([X, X - 0.5])}
    known = {"known_best": 0.5, "norms": np.ones(2), "witnesses": POINTS}
    drawn = {"noise": 0.1, "seed": 1, "constraints": 1, "coefficients": 20, "kernel": None}
    arms = {"arms": 30, "lengthscale": 0.2, "dimension": 1, "law": "gaussian"}
    cloud = {"rate": 100.0, "limit": 0.4, "allowed": 0.05, "requests": 500, "seed": 0, "work": 0.04, "wait": 0.04}
    radio = {"states": 4, "levels": 5, "snr": 5.0, "budget": 0.3, "noise": 0.05, "law": "gaussian"}
    return {
        "Problem": {**finite, **noise, **optional, "contexts": None, "data_hash": ""},
        "ResampledNoise": {"residuals": np.ones((3, 2, 2))},
        "SpaceProblem": {**searched, **noise, **optional, **known},
        "StudentNoise": {"freedom": 3.0},
        "channel_gains": {"states": 4, "snr": 1.0},
        "cloud": cloud,
        "measured": {"name": "SS-D", "limits": 1, "quantile": 0.3, "log": False, "noise": 0.05},
        "rkhs": {**arms, **drawn},
        "rkhs_on": {"space": sb.Box(0, 1), **drawn},
        "sensors": {"data": "stand-in", "path": None, "kernel": "correlation", "noise": "sd", "threshold": None},
        "standard": {"name": "branin", "noise": 0.01, "lengthscale": 0.3},
        "stocks": {"data": "stand-in", "path": None, "kernel": "covariance", "noise": "max", "threshold": 50.0},
        "wireless": radio,
    }


def _theory():
    costs, rewards = POINTS[:, 0] - 0.5, POINTS[:, 0]
    condition = sb.theory.certify([sb.UCB()] * 2, [sb.theory.Trial(**trial())] * 2)
    gain = {"features": factorised(), "rounds": 20, "regularisation": 1.0}
    pair = {"reward": rewards, "cost": costs}
    history = (POINTS, rewards, costs)
    certified = {"policy": policy(), "trace": trace(), "confidence": 0.1, "rounds": [5], "cost_range": (-9, 9)}
    factors = {"kernel": sb.Matern(0.3), "arms": POINTS, "tolerance": 1e-9, "pivots": [0, 9], "largest_rank": 5}
    return {
        "Setting": setting(),
        "Trial": trial(target=None, seed=0, doubt=0.01, horizon=100, width="theory"),
        "bernstein_radius": {"observed": np.full((1, 5), 0.5), "low": 0.0, "high": 1.0, "alpha": 0.1},
        "cancelling_slack": {"violation": 10.0, "horizon": 100, "slater": 0.5, "reward_bound": 2.0},
        "certify": {"explorations": [sb.UCB()], "trials": [sb.theory.Trial(**trial())], "one_arm": True},
        "certify_run": certified,
        "deviation_sum": {"T": 100, "gain": 5.0, "regularisation": 1.0, "cap": 1.0},
        "features": factors,
        "gain_on_space": {"kernel": sb.Linear(), "space": sb.Box(0, 1), "rounds": 10, "regularisation": 1.0},
        "gain_rate": {"kernel": sb.Matern(0.3), "dimension": 1},
        "greedy_gain": {**gain, "steps": 5},
        "guarantees": {"policy": policy(), "problem": problem(), "runs": 1},
        "largest_margin": {"cost": costs, "contexts": None},
        "law": {"exploration": sb.UCB(), "trial": sb.theory.Trial(**trial())},
        "norm_on_arms": {"features": factorised(), "values": rewards},
        "optimal_dual": {**pair, "contexts": None},
        "plausible_arms": {"bounds": bounds()},
        "randomized_optimum": {**pair, "contexts": None},
        "realised_gain": {"features": factorised(), "arms": np.arange(5), "regularisation": 1.0},
        "slater_condition": {"cost": costs, "contexts": None},
        "spectral_gain": gain,
        "sub_gaussian_radius": {"rounds": np.array([5.0]), "scale": 1.0, "alpha": 0.1},
        "suggest_settings": {"history": history, "kernel": sb.Matern(0.3)},
        "theorem_1": {"setting": sb.theory.Setting(**setting())},
        "theorem_2": {"setting": sb.theory.Setting(**setting()), "condition": condition},
    }


def _valid_arguments():
    fit = {"kernel": sb.Matern(0.3), "X": POINTS[:9], "y": POINTS[:9, 0] ** 2, "lengthscales": (0.1, 1.0)}
    fit |= {"noise": (1e-6, 1.0), "prior": (0.5, 1.0), "centred": True, "restarts": 0, "seed": 0}
    autopilot = {"arms": POINTS, "constraints": 1, "horizon": 60, "contexts": None, "kernel": None, "optimism": 1.0}
    run = {"policy": policy(), "problem": problem(), "rounds": 5, "progress": None, "keep": ["rewards"]}
    sweep = {"runs": {"a": (policy(), problem())}, "backend": "local", "jobs": 1, "block": 1, "progress": None}
    own = {
        "Agent": {"policy": policy(), "seed": 0},
        "Autopilot": autopilot,
        "Box": {"lower": [0.0, 0.0], "upper": [1.0, 1.0]},
        "Categorical": {"choices": ["a", "b"]},
        "Cyclic": {"period": 24.0},
        "Doubling": {"policy": policy()},
        "Excess": {"metric": "ms", "above": 50.0, "at_most": 2.0, "over": 500},
        "Fixed": {"value": 3},
        "Float": {"low": 0.0, "high": 1.0, "step": 0.25},
        "Integer": {"low": 0, "high": 9},
        "LogFloat": {"low": 0.1, "high": 1.0, "step": None},
        "LogInteger": {"low": 1, "high": 256},
        "Matern": {"lengthscale": 0.3, "nu": 2.5},
        "Mean": {"metric": "ms", "at_most": 12.0, "at_least": None, "over": "all"},
        "Ordinal": {"values": [1, 2, 4]},
        "Practical": {"space": sb.Box(0, 1), "kernel": sb.Matern(0.3), "horizon": 60, "constraints": 1},
        "RandUCB": {"distribution": sb.Gaussian()},
        "Share": {"metric": "ms", "above": 50.0, "below": None, "at_most": 0.01, "over": "all"},
        "Space": {"parameters": {"a": sb.Float(0, 1)}},
        "SquaredExponential": {"lengthscale": 0.3},
        "Tabular": {"matrix": np.eye(3)},
        "TruncatedGaussian": {"lower": 0.0, "upper": 2.0, "points": 5},
        "Tuner": tuner_settings("in_an_entry_point.db"),
        "UniformDiscrete": {"points": 5},
        "fit": fit,
        "namespace": {"x": POINTS},
        "randomized_optimum": _theory()["randomized_optimum"],
        "score": {"trace": trace(), "problem": problem()},
        "simulate": _run(**run, draws="host", precision="float64", callback=None),
        "suggest_settings": _theory()["suggest_settings"],
        "sweep": _run(**sweep, rounds=5),
        "tuners": {"store": _store_with_a_tuner()},
    }
    data = {
        "identify": {"name": "sensors", "data": "stand-in", "path": None},
        "load_configurations": {"name": "SS-D"},
        "load_prices": {"path": "no such file"},
        "load_sensors": {"path": "no such file"},
        "simulated_office": {"seed": 0},
    }
    named = [(sb, own), (sb.problems, _problems()), (sb.theory, _theory()), (sb.data, data)]
    baselines = {"make": {"name": "rpol", **settings()}, "TimeVarying": {"policy": policy(), "every": 5}}
    named.append((sb.baselines, baselines))
    return _policies() | {f"{module.__name__}.{name}": valid for module, by in named for name, valid in by.items()}


def _methods():
    """Methods that users call, of values that they build."""
    space = sb.Space({"a": sb.Float(0, 1), "n": sb.Integer(1, 9), "k": sb.Categorical(["a", "b"])})
    searched = sb.problems.rkhs_on(seed=1, coefficients=20)
    return {
        "Kernel.rescaled": (sb.Linear().rescaled, {"arms": POINTS + 1}),
        "Kernel.__mul__": (sb.Linear().__mul__, {"other": 0.5}),
        "Space.encode": (space.encode, {"values": {"a": 0.5, "n": 2, "k": "b"}}),
        "Space.encode_if_possible": (space.encode_if_possible, {"values": {"a": 0.5, "n": 20, "k": "b"}}),
        "SpaceProblem.discretised": (searched.discretised, {"points": POINTS}),
        "Standard.problem": (sb.problems.STANDARD["branin"].problem, {"noise": 0.1, "lengthscale": 0.3}),
        "Trace.frame": (trace().frame, {"library": "pandas"}),
        "Configurations.metric": (sb.data.load_configurations("SS-D").metric, {"name": "Latency-"}),
        "Source.status": (sb.data.SENSORS.status, {"folder": "no such folder"}),
        "CKB.replace": (policy().replace, {"horizon": 70, "slater": 0.5, "explore": "ts"}),
        "CKB.guarantees": (policy().guarantees, {"problem": problem()}),
        **_agent_methods(),
    }


def _store_with_a_tuner():
    settings = tuner_settings("listed.db")
    with contextlib.suppress(sb.MissingExtraError):
        sb.Tuner(**settings)
    return settings["store"]


def tuner_settings(file):
    """All arguments of a tuner in a file of that name."""
    space = {"a": sb.Integer(1, 10), "b": sb.Float(0, 1), "c": sb.Categorical(["x", "y"])}
    goal = {"maximize": "rows", "minimize": None, "limits": [sb.Mean("latency", at_most=12)]}
    options = {"rounds": 50, "forget": 100, "explore_share": 0.5, "deadline": 60.0, "noise": {"rows": 1.0}, "seed": 0}
    values = {"baseline": {"a": 1, "b": 0.5, "c": "x"}, "context": {"hour": sb.Cyclic(24)}}
    return {"name": "ingest", "space": space, **goal, **options, **values, "store": f"{folder().name}/{file}"}


@cache
def folder():
    """A folder for files of agents and tuners, which goes away with the process."""
    return tempfile.TemporaryDirectory()


def _played(the_policy, rounds=3):
    """An agent after some rounds, and its last decision."""
    agent = sb.Agent(the_policy)
    for i in range(rounds):
        decision = agent.ask()
        agent.tell(decision, 0.1 * i, -0.1 * i)
    return agent, decision


def _agent_methods():
    """Methods of agents. Those that change one work on a copy and return it, so that its next round is played too."""
    agent, told = _played(policy())
    tuned, _ = _played(sb.Autopilot(POINTS), rounds=6)
    searched, _ = _played(sb.CKB(**settings(arms=sb.Box(0, 1))))
    free = sb.Agent(sb.CKB(**settings(constraints=0)))
    path = f"{folder().name}/agent.npz"
    agent.save(path)

    def changing(method):
        def call(**arguments):
            twin = copy.deepcopy(method.__self__)
            getattr(twin, method.__name__)(**arguments)
            return twin

        return call

    return {
        "Agent.ask": (agent.ask, {"among": [1, 2]}),
        "Agent.tell": (changing(agent.tell), {"decision": agent.ask(), "reward": 0.5, "cost": 0.5}),
        "Agent.tell, no costs": (changing(free.tell), {"decision": free.ask(), "reward": 0.5, "cost": ()}),
        "Agent.forget": (changing(agent.forget), {"decision": told}),
        "Agent.save": (changing(agent.save), {"path": path}),
        "Agent.load": (sb.Agent.load, {"path": path, "policy": None, "memory": 2**30}),
        "Agent.certificate": (agent.certificate, {"confidence": 0.1, "cost_range": (-9, 9)}),
        "Agent.recommend": (agent.recommend, {"probability": 0.9}),
        "Agent.with_limits_raised": (tuned.with_limits_raised, {"by": 0.5}),
        "Agent.acquisition": (searched.acquisition, {"points": POINTS}),
        "Posterior.mean": (searched.posterior.mean, {"points": POINTS}),
    }
