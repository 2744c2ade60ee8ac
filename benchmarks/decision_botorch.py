"""BoTorch behind the interface of decision_methods.py: constrained log-EI, and SCBO. Needs botorch.

The model is BoTorch's default (a `SingleTaskGP` of all outputs, each standardised, with its own scales), fitted again
each time that the number of rounds has grown by a fifth. Arms are compared by the acquisition at all of them; a space
is searched.
"""

import warnings
from types import SimpleNamespace

import numpy as np
import torch
from botorch.acquisition.analytic import LogConstrainedExpectedImprovement, LogProbabilityOfFeasibility
from botorch.fit import fit_gpytorch_mll
from botorch.generation.sampling import ConstrainedMaxPosteriorSampling
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from continuous_botorch import region
from decision_methods import UniformlyRandom, best_feasible
from gpytorch.mlls import ExactMarginalLogLikelihood

from softbandit.domains import Domain

GROWTH = 1.2  # of the number of rounds between two fits
CANDIDATES = 1000  # of SCBO
ARMS_AT_ONCE = 256  # whose covariances fit in the cache

torch.set_num_threads(1)
warnings.filterwarnings("ignore", module="botorch|linear_operator|gpytorch")


class Outputs(SingleTaskGP):
    """BoTorch's default model. Its posterior at points one by one is computed as that of a set of points: as a batch of
    single ones it would copy the measurements for each.
    """

    def posterior(self, X, **options):
        if X.ndim != 3 or X.shape[-2] != 1:
            return super().posterior(X, **options)
        joint = super().posterior(X[:, 0], **options)
        return SimpleNamespace(mean=joint.mean[:, None], variance=joint.variance[:, None])


class Modelled:
    """Random points first, max(8, 2 (d + 1)) of them; then the `best` point by a model of all outputs.

    Points are in the unit cube.
    """

    def __init__(self, problem, seed):
        torch.manual_seed(seed % 2**32)
        self.arms, self.rng, self.start = problem.arms, np.random.default_rng(seed), UniformlyRandom(problem, 0, seed)
        self.on_space = isinstance(problem.arms, Domain)
        self.lower, self.width = np.zeros(1), np.ones(1)
        if self.on_space:
            self.lower, self.width = problem.arms.lower, problem.arms.upper - problem.arms.lower
        self.d = problem.arms.dimension if self.on_space else problem.arms.shape[1]
        self.initial, self.next_fit = max(8, 2 * (self.d + 1)), 0
        self.X, self.Y = np.empty((0, self.d)), np.empty((0, 1 + problem.constraints))

    def ask(self, among):
        if len(self.X) < self.initial:
            return self.start.ask(among)
        self.learn()
        return self.best()

    def tell(self, choice, reward, costs):
        x = (choice - self.lower) / self.width if self.on_space else self.arms[choice]
        self.X, self.Y = np.vstack([self.X, x]), np.vstack([self.Y, np.append(reward, costs)])

    def learn(self):
        """Condition the model on all rounds; fit it first, if that is due."""
        X, Y = torch.as_tensor(self.X), torch.as_tensor(self.Y)
        if len(X) >= self.next_fit:
            self.next_fit = GROWTH * len(X)
            self.model = Outputs(X, Y)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(self.model.likelihood, self.model))
        self.model.eval()
        targets = self.model.outcome_transform(Y)[0].T
        self.model.set_train_data(X.expand(len(targets), *X.shape), targets, strict=False)

    def point(self, x):
        """Return a point of the unit cube as a point of the space."""
        return self.arms.snap((self.lower + x * self.width)[None])[0]


class LogEI(Modelled):
    """Constrained log-EI; the incumbent is the best posterior mean among rounds whose mean costs meet the limits."""

    def best(self):
        acquisition = self.acquisition()
        if self.on_space:
            edges = torch.stack([torch.zeros(self.d), torch.ones(self.d)]).double()
            x, _ = optimize_acqf(acquisition, edges, q=1, num_restarts=4, raw_samples=256)
            return self.point(x.numpy()[0])
        with torch.no_grad():
            parts = torch.tensor(self.arms)[:, None].split(ARMS_AT_ONCE)
            return int(torch.cat([acquisition(part) for part in parts]).argmax())

    def acquisition(self):
        with torch.no_grad():
            mean = self.model.posterior(torch.as_tensor(self.X)).mean.numpy()
        feasible = (mean[:, 1:] <= 0).all(axis=1)
        limits = dict.fromkeys(range(1, mean.shape[1]), (None, 0.0))
        if not feasible.any():
            return LogProbabilityOfFeasibility(self.model, limits)
        return LogConstrainedExpectedImprovement(self.model, mean[feasible, 0].max(), 0, limits)


class SCBO(Modelled):
    """Thompson sampling in a trust region around the best point so far, which grows and shrinks as in the paper.

    Outputs are standardised, as in BoTorch's tutorial, and not also warped, as in the paper.
    """

    length, successes, failures = 0.8, 0, 0

    def best(self):
        centre = self.X[best_feasible(self.Y)]
        candidates = self.nearby_arms(centre) if not self.on_space else self.nearby_points(centre)
        reward, costs = self.model.subset_output([0]), self.model.subset_output(range(1, self.Y.shape[1]))
        sampler = ConstrainedMaxPosteriorSampling(reward, costs, replacement=False)
        with torch.no_grad():
            x = sampler(torch.as_tensor(candidates), num_samples=1).numpy()[0]
        return self.point(x) if self.on_space else int(np.abs(self.arms - x).sum(axis=1).argmin())

    def nearby_points(self, centre):
        X = region(centre, self.length, CANDIDATES, self.d, self.rng)
        return (self.arms.snap(self.lower + X * self.width) - self.lower) / self.width

    def nearby_arms(self, centre):
        inside = np.flatnonzero((np.abs(self.arms - centre) <= self.length / 2).all(axis=1))
        return self.arms[self.rng.permutation(inside)[:CANDIDATES]]

    def tell(self, choice, reward, costs):
        super().tell(choice, reward, costs)
        if len(self.Y) <= self.initial:
            return
        better = best_feasible(self.Y) == len(self.Y) - 1
        self.successes, self.failures = (self.successes + 1, 0) if better else (0, self.failures + 1)
        if self.successes == 3:
            self.length, self.successes = min(2 * self.length, 1.6), 0
        elif self.failures == max(4, self.d):
            self.length, self.failures = self.length / 2, 0
        if self.length < 0.5**7:
            self.length = 0.8
