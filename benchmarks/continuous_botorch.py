"""BoTorch for continuous.py: its maximiser of our acquisition, and SCBO's loop. Needs botorch."""

import gpytorch
import numpy as np
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.generation.sampling import ConstrainedMaxPosteriorSampling
from botorch.models import ModelListGP, SingleTaskGP
from botorch.optim import optimize_acqf
from torch.quasirandom import SobolEngine

from softbandit.domains.search import CANDIDATES
from softbandit.gp.fitting import fit

torch.set_default_dtype(torch.float64)


class Lagrangian(AcquisitionFunction):
    """z(x) = Proj f_t(x) - phi . Proj g_t(x), with UCB estimates: one model of two outputs."""

    def __init__(self, model, beta, bound, phi):
        super().__init__(model)
        self.beta, self.bound, self.weights = beta, bound, torch.cat([torch.ones(1), -phi])

    def forward(self, X):
        posterior = self.model.posterior(X)
        h = posterior.mean.squeeze(-2) + self.beta * posterior.variance.clamp_min(0).sqrt().squeeze(-2)
        return (self.weights * torch.clamp(h, -self.bound, self.bound)).sum(dim=-1)


def maximiser(agent, starts):
    """Return the point that optimize_acqf finds for the agent's round, with one posterior for both outputs as ours."""
    policy, state = agent.policy, agent._state
    posterior = state.posterior[0][0]  # of the first trial, shared by reward and cost
    X, Y = torch.as_tensor(np.array(posterior.anchors)), torch.as_tensor(np.array(posterior.y))
    model = fixed_gp(X, Y, policy.kernel.lengthscale, posterior.regularisation)
    gain = np.array([posterior.gain])
    beta = [block.width(state.round + 1, gain)[0, 0] for block in policy.model.blocks]
    acquisition = Lagrangian(
        model, torch.tensor(beta), torch.as_tensor(policy.bounds[:, 0]), torch.as_tensor(state.dual[0])
    )
    edges = torch.stack([torch.as_tensor(np.array(policy.arms.lower)), torch.as_tensor(np.array(policy.arms.upper))])
    x, _ = optimize_acqf(acquisition, edges, q=1, num_restarts=starts, raw_samples=CANDIDATES)
    return x.detach().numpy()[0]


def fixed_gp(X, Y, lengthscale, lam):
    """Return a GP with fixed hyperparameters: zero mean, Matern 5/2 of unit variance, noise lambda."""
    kernel = gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=X.shape[1], batch_shape=batch(Y))
    model = SingleTaskGP(
        X,
        Y,
        train_Yvar=torch.full_like(Y, lam),
        covar_module=kernel,
        mean_module=gpytorch.means.ZeroMean(batch_shape=batch(Y)),
        outcome_transform=None,
    )
    with torch.no_grad():
        kernel.lengthscale = torch.as_tensor(np.broadcast_to(lengthscale, X.shape[1]).copy())
    return model.eval()


def batch(Y):
    return torch.Size([Y.shape[1]] if Y.shape[1] > 1 else [])


def scbo(problem, rounds, seed, candidates=1000):
    """Run Thompson sampling in a trust region around the best point so far; feasible points are better than others.

    Hyperparameters are fitted per output whenever the number of rounds has doubled. The region grows after three
    successes and shrinks after max(4, d) failures, as in the paper.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    d, m = problem.arms.dimension, problem.constraints
    lower, width = np.array(problem.arms.lower), np.array(problem.arms.upper) - np.array(problem.arms.lower)
    initial = max(8, 2 * (d + 1))
    U = rng.random((initial, d))
    U = (problem.arms.at(U) - lower) / width
    Y = observe(problem, lower + U * width, rng)
    length, successes, failures, fits = 0.8, 0, 0, None
    while len(U) < rounds:
        if fits is None or (len(U) % initial == 0 and (len(U) // initial).bit_count() == 1):
            form = type(problem.kernel)((1.0,) * d)
            fits = [fit(form, U, y, centred=i == 0) for i, y in enumerate(Y.T)]
        centre = U[best_index(Y)]
        model = ModelListGP(*(fitted_gp(U, y, fitted) for y, fitted in zip(Y.T, fits, strict=True)))
        X = region(centre, length, candidates, d, rng)
        X = (problem.arms.snap(lower + X * width) - lower) / width
        reward, costs = ModelListGP(model.models[0]), ModelListGP(*model.models[1:])
        sampler = ConstrainedMaxPosteriorSampling(
            reward.models[0], constraint_model=costs if m > 1 else costs.models[0], replacement=False
        )
        with torch.no_grad():
            x = sampler(torch.as_tensor(X), num_samples=1).numpy()[0]
        y = observe(problem, (lower + x * width)[None], rng)
        better = best_index(np.concatenate([Y, y])) == len(Y)
        U, Y = np.concatenate([U, x[None]]), np.concatenate([Y, y])
        successes, failures = (successes + 1, 0) if better else (0, failures + 1)
        if successes == 3:
            length, successes = min(2 * length, 1.6), 0
        elif failures == max(4, d):
            length, failures = length / 2, 0
        if length < 0.5**7:
            length = 0.8
    return lower + U[:rounds] * width


def observe(problem, X, rng):
    return problem.function(X) + problem.noise * rng.standard_normal((len(X), 1 + problem.constraints))


def best_index(Y):
    """Return the index of the best feasible point, or of the one with the smallest violation."""
    violation = np.maximum(Y[:, 1:], 0).sum(axis=1)
    feasible = violation <= 0
    return int(np.where(feasible, Y[:, 0], -np.inf).argmax() if feasible.any() else violation.argmin())


def fitted_gp(U, y, fitted):
    """Return the model of one output at fitted hyperparameters, in units of its scale."""
    z = torch.as_tensor((y - fitted.offset) / fitted.scale)[:, None]
    return fixed_gp(torch.as_tensor(U), z, fitted.kernel.lengthscale, max(fitted.regularisation, 1e-6))


def region(centre, length, count, d, rng):
    """Return Sobol points of the trust region, each with some coordinates equal to the centre's."""
    low, high = np.clip(centre - length / 2, 0, 1), np.clip(centre + length / 2, 0, 1)
    points = SobolEngine(d, scramble=True, seed=int(rng.integers(2**31))).draw(count).numpy()
    moved = rng.random((count, d)) <= min(20 / d, 1.0)
    moved[np.arange(count), rng.integers(d, size=count)] = True
    return np.where(moved, low + points * (high - low), centre)
