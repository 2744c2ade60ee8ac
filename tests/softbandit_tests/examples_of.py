"""One example of every kernel, exploration, parameter, problem and policy, for the contract suites that each must pass.

The suites check that none is missing.
"""

import inspect
from functools import partial

import numpy as np

import softbandit as sb
from softbandit.gp import ArmKernel

_rng = np.random.default_rng(0)
_root = _rng.standard_normal((12, 5))

ARMS = _rng.random((12, 2))
INDEX = np.arange(12.0)[:, None]

KERNELS = {
    "SquaredExponential": (sb.SquaredExponential(0.3), ARMS),
    "SquaredExponential, one per dimension": (sb.SquaredExponential([0.2, 0.7]), ARMS),
    "Matern": (sb.Matern(0.4), ARMS),
    "Matern 1/2": (sb.Matern(0.4, nu=0.5), ARMS),
    "Matern 3/2": (sb.Matern([0.4, 0.6], nu=1.5), ARMS),
    "Linear": (sb.Linear(), ARMS / 2),
    "Tabular": (sb.Tabular(_root @ _root.T / 30), INDEX),
    "Sum": (0.5 * sb.SquaredExponential(0.3) + 0.5 * sb.Linear(), ARMS / 2),
    "Product": (sb.SquaredExponential(0.3) * sb.Matern(0.5), ARMS),
    "Scaled": (0.25 * sb.Matern(0.4), ARMS),
}

EXPLORATIONS = {
    "UCB": sb.UCB(),
    "Thompson": sb.Thompson(),
    "Greedy": sb.Greedy(),
    "RandUCB": sb.RandUCB(),
    "RandUCB, uniform": sb.RandUCB(sb.UniformDiscrete(points=5)),
    "RandUCB, truncated": sb.RandUCB(sb.TruncatedGaussian(lower=-1, upper=2, points=7)),
}

# With some of its values.
PARAMETERS = {
    "Float": (sb.Float(-1.0, 3.0), [-1.0, 0.3, 3.0]),
    "Float, step": (sb.Float(0.1, 1.0, step=0.1), [0.1, 0.3, 0.7, 1.0]),
    "LogFloat": (sb.LogFloat(1e-4, 1e-1), [1e-4, 0.02, 1e-1]),
    "LogFloat, step": (sb.LogFloat(0.5, 8.0, step=0.5), [0.5, 1.5, 8.0]),
    "Integer": (sb.Integer(-2, 7), [-2, 0, 7]),
    "Integer, large": (sb.Integer(1, 2**53), [1, 12345, 2**53]),
    "LogInteger": (sb.LogInteger(1, 256), [1, 2, 3, 100, 255, 256]),
    "LogInteger, large": (sb.LogInteger(1000, 2**40), [1000, 2**20 + 1, 2**40 - 1]),
    "Ordinal": (sb.Ordinal([1, 2, 4, 8]), [1, 4, 8]),
    "Ordinal, text": (sb.Ordinal(["small", "large"]), ["small", "large"]),
    "Categorical": (sb.Categorical(["a", 1, 1.0, True, None, (64, 64)]), ["a", 1, True, (64, 64)]),
    "Fixed": (sb.Fixed((1, "a")), [(1, "a")]),
    "Cyclic": (sb.Cyclic(24), [0.0, 1.0, 6.5, 12.0, 23.999]),
}


def problem(**settings):
    """A synthetic problem of 30 arms, with other settings if given."""
    return sb.problems.rkhs(**{"arms": 30, "noise": 0.2, "seed": 1, **settings})


# One per function in sb.problems that builds a problem; each call builds it again.
PROBLEMS = {
    "rkhs": problem,
    "rkhs, two constraints": partial(problem, constraints=2, seed=5),
    "rkhs, heavy tails": partial(problem, law="student"),
    "sensors": partial(sb.problems.sensors, "stand-in"),
    "stocks": partial(sb.problems.stocks, "stand-in", kernel="covariance"),
    "cloud": sb.problems.cloud,
    "wireless": sb.problems.wireless,
    "measured": partial(sb.problems.measured, "SS-D"),
    "measured, two limits": partial(sb.problems.measured, "SS-M", limits=2, log=True),
}


def policy(the_problem=None, kind=sb.CKB, **settings):
    """A policy for the problem, `problem()` by default, with a horizon of 60 rounds."""
    the_problem = the_problem or problem()
    return kind(**{**the_problem.settings(), "horizon": 60, **settings})


def safest(the_problem=None):
    """The arm whose largest cost is least."""
    return int((the_problem or problem()).costs.max(axis=1).argmin())


def in_data_space(**settings):
    """Settings of a policy whose posterior is in features of the observed arms, as with a kernel of high rank."""
    return {"factors": [ArmKernel(problem().kernel, problem().arms, tolerance=1e-13)], **settings}


POLICIES = {
    "CKB": policy(),
    "CKB, Thompson": policy(explore="ts"),
    "CKB, RandUCB for the reward only": policy(explore="rand", explore_cost="ucb"),
    "CKB, queue": policy(dual="queue", slack=0.01, ties="first"),
    "CKB, tight widths and measured costs": policy(width="tight", dual_feedback="measured"),
    "CKB, tight widths, Thompson": policy(width="tight", explore="ts"),
    "CKB, another cost kernel": policy(cost_kernel=sb.Matern(0.5), explore="ts"),
    "CKB, two constraints": policy(problem(constraints=2, seed=5), explore="rand"),
    "CKB, data space": policy(**in_data_space(width="tight")),
    "CKB, unconstrained": policy(constraints=0, explore="ts"),
    "Autopilot": sb.Autopilot(problem().arms, horizon=60),
    "Autopilot, two constraints": sb.Autopilot(problem().arms, constraints=2),
    "Doubling": sb.Doubling(policy(explore="rand", horizon=20)),
    "TimeVarying": sb.baselines.TimeVarying(policy(width_scale=0.2), every=7),
    "RPOL": policy(kind=sb.baselines.RPOL),
    "POBO, two constraints": policy(problem(constraints=2, seed=5), kind=sb.baselines.POBO, hard=[1], width_scale=0.3),
    "PDCBO": policy(kind=sb.baselines.PDCBO, start=1.0, slack=0.1),
    "CONFIG": policy(kind=sb.baselines.CONFIG),
    "EPBO": policy(kind=sb.baselines.EPBO, penalty=3.0),
    "ConstrainedEI": policy(kind=sb.baselines.ConstrainedEI),
    "ConstrainedTS": policy(kind=sb.baselines.ConstrainedTS),
    "GPUCB": policy(kind=sb.baselines.GPUCB),
    "GPTS": policy(kind=sb.baselines.GPTS),
    "SafeOpt": policy(kind=sb.baselines.SafeOpt, safe=safest(), width_scale=0.3),
    "SafeOpt, data space": policy(kind=sb.baselines.SafeOpt, **in_data_space(safe=safest())),
    "SafeOpt, Lipschitz": policy(kind=sb.baselines.SafeOpt, safe=[safest()], lipschitz="arms"),
    "SafeOpt, intersected": policy(kind=sb.baselines.SafeOpt, safe=safest(), intersect=True, expanders="all"),
    "StageOpt": policy(kind=sb.baselines.StageOpt, safe=safest(), lipschitz=20.0, stage_rounds=20),
    "SGPUCB": policy(kind=sb.baselines.SGPUCB, safe=[safest(), safest()], initial_rounds=10),
    "OPB": policy(kind=sb.baselines.OPB, safe=safest(), safe_cost=-0.5, width_scale=0.3),
    "OptimisticLP": policy(kind=sb.baselines.OptimisticLP, width_scale=0.3),
    "OptimisticLP, two constraints": policy(problem(constraints=2, seed=5), kind=sb.baselines.OptimisticLP),
    "SafeBOCP": policy(kind=sb.baselines.SafeBOCP, safe=safest(), rate=0.2),
    "LoSBO": policy(kind=sb.baselines.LoSBO, safe=safest(), lipschitz=4.0),
    "LoSBO, UCB": policy(kind=sb.baselines.LoSBO, safe=safest(), rule="ucb", noise_bound=0.3),
    "UCBD": policy(kind=sb.baselines.UCBD, width_scale=0.3),
    "UCBD, two constraints": policy(problem(constraints=2, seed=5), kind=sb.baselines.UCBD, cost_kernel=sb.Matern(0.5)),
}


def classes(module, base):
    """The names of the subclasses of base that a module defines."""
    return {
        name
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and value.__module__ == module.__name__
        and issubclass(value, base)
        and value is not base
    }
