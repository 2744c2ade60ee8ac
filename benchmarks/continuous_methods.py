"""The methods that continuous.py runs on standard problems. Each returns the points that it played."""

import numpy as np
from scipy.special import log_ndtr, ndtr

import softbandit as sb
from softbandit.domains.search import Objective, maximise
from softbandit.gp.exact import Exact


def ckb(problem, rounds, seed, **settings):
    policy = sb.CKB(**problem.settings(), horizon=rounds, **{"width_scale": 0.1} | settings)
    return sb.simulate(policy, problem, trials=[seed], engine="numpy").arms[0]


def autopilot(problem, rounds, seed):
    policy = sb.Autopilot(problem.arms, constraints=problem.constraints, horizon=rounds)
    return sb.simulate(policy, problem, trials=[seed], engine="numpy").arms[0]


def constrained_ei(problem, rounds, seed):
    """Maximise EI times the probability of feasibility, as baselines.ConstrainedEI, by our search without gradients."""
    rng = np.random.default_rng(seed)
    lam = problem.noise**2
    posterior = Exact(problem.kernel, lam, 1 + problem.constraints, problem.arms.dimension)
    initial = max(8, 2 * (problem.arms.dimension + 1))
    X = []
    for t in range(rounds):
        if t < initial:
            x = problem.arms.at(rng.random((1, problem.arms.dimension)))[0]
        else:
            x = maximise(
                Objective(expected_improvement(posterior), None), problem.arms, posterior.anchors[::-1], rng
            ).best
        X.append(x)
        noise = problem.noise * rng.standard_normal(1 + problem.constraints)
        posterior = posterior.condition(x, problem.function(x[None])[0] + noise)
    return np.array(X)


def expected_improvement(posterior):
    """Return ln(EI(x) P(feasible)) as a function of points, or ln P(feasible) before any point is feasible."""
    fitted = posterior.fitted
    feasible = (fitted[:, 1:] <= 0).all(axis=1)
    incumbent = fitted[feasible, 0].max() if feasible.any() else None

    def value(X):
        mean, std = moments(posterior, X)
        std = np.maximum(std, 1e-9)
        chance = log_ndtr(-mean[:, 1:] / std[:, None]).sum(axis=1)
        if incumbent is None:
            return chance
        z = (mean[:, 0] - incumbent) / std
        ei = std * (z * ndtr(z) + np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi))
        return np.log(np.maximum(ei, 1e-300)) + chance

    return value


def moments(posterior, Q):
    """Return mean (n, k) and standard deviation (n,) at n points."""
    K = posterior.kernel(Q, posterior.anchors)
    var = posterior.kernel.diag(Q) - posterior.explained(K)[0]
    return K @ posterior.coefficients, np.sqrt(np.maximum(var, 0))


def scbo(problem, rounds, seed):
    """Run SCBO, Thompson sampling in a trust region (Eriksson & Poloczek 2021), with BoTorch; None without it."""
    try:
        import continuous_botorch
    except ImportError:
        return None
    return continuous_botorch.scbo(problem, rounds, seed)


RUNS = {
    "CKB-UCB": ckb,
    "calibrated": lambda *run: ckb(*run, regularisation=run[0].noise ** 2, width=2.0, width_scale=1.0),
    "CKB-TS": lambda *run: ckb(*run, explore="ts"),
    "Autopilot": autopilot,
    "CEI": constrained_ei,
    "SCBO": scbo,
}
