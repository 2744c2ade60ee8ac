"""BoTorch's constrained test functions as problems, and CKB's acquisition on BoTorch's models, for its optimisers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.domains import Box, Objective, maximise
from softbandit.errors import ArgumentError, needs_extra
from softbandit.problems import SpaceProblem, Standard
from softbandit.problems.standard_functions import SAMPLE

with needs_extra("botorch", "botorch"):
    from botorch.acquisition import AcquisitionFunction
    from botorch.test_functions.base import ConstrainedBaseTestProblem
    from botorch.utils.transforms import t_batch_mode_transform
    from torch import as_tensor, column_stack


class CKBAcquisition(AcquisitionFunction):
    """z(x) = f_t(x) - phi . g_t(x), with UCB estimates cut to their bounds.    Algorithm 1, lines 2 to 5

    Parameters
    ----------
    model
        Any model of BoTorch with 1 + m outputs: the reward, then each cost.
    dual
        phi, the price of one unit of each cost, (m,).
    width
        beta_t, one number or one per output.
    bounds
        B, then each G: estimates are cut to [-B, B] and [-G, G]. None cuts nothing.

    Examples
    --------
    >>> import torch
    >>> from botorch.models import SingleTaskGP
    >>> from botorch.optim import optimize_acqf
    >>> X = torch.rand(12, 2, dtype=torch.double)
    >>> Y = torch.stack([X.sum(1), X[:, 0] - 0.5], dim=1)  # reward and cost
    >>> z = CKBAcquisition(SingleTaskGP(X, Y), dual=[0.7], width=2.0)
    >>> x, _ = optimize_acqf(z, torch.tensor([[0.0, 0.0], [1.0, 1.0]]).double(), q=1, num_restarts=2, raw_samples=32)
    >>> z.estimates(x).shape  # f_t and g_t there: g_t moves the dual
    torch.Size([2])
    """

    def __init__(self, model: Any, dual: Any, width: Any, bounds: Sequence[float] | None = None) -> None:
        super().__init__(model=model)
        m = model.num_outputs - 1
        phi = validation.numbers_above("dual", np.asarray(dual, dtype=float), m, least=0.0, strict=False)
        beta = validation.numbers_above("width", width, 1 + m, least=0.0, strict=False)
        cut = np.full(1 + m, np.inf) if bounds is None else validation.numbers("bounds", bounds, 1 + m, single=False)
        for name, values in {"phi": phi, "beta": beta * np.array([1.0] + [-1.0] * m), "cut": cut}.items():
            self.register_buffer(name, as_tensor(values))

    def estimates(self, X: Any) -> Any:
        """Return f_t and g_t at points (..., 1, d), cut to their bounds: (..., 1 + m)."""
        posterior = self.model.posterior(X)
        h = posterior.mean + self.beta * posterior.variance.sqrt()  # line 2
        return h.clamp(-self.cut, self.cut).squeeze(-2)  # lines 3 and 4

    @t_batch_mode_transform(expected_q=1)  # type: ignore[untyped-decorator, unused-ignore]
    def forward(self, X: Any) -> Any:
        h = self.estimates(X)
        return h[..., 0] - h[..., 1:] @ self.phi  # line 5


def from_botorch(function: Any, noise: float = 0.01, lengthscale: float = 0.3) -> SpaceProblem:
    """Return one of BoTorch's constrained test functions as a problem.

    Reward and costs are in standard units, with noise of that standard deviation (the function's own is not used), as
    in `sb.problems.standard`. `best_value` is that of the optimum that BoTorch states.

    >>> from botorch.test_functions.synthetic import ConstrainedGramacy
    >>> problem = from_botorch(ConstrainedGramacy())
    >>> problem.arms, problem.constraints
    (Box(lower=array([0., 0.]), upper=array([1., 1.])), 2)
    """
    remedy = "For example ConstrainedGramacy()."
    validation.instance("function", function, ConstrainedBaseTestProblem, "a constrained test function", remedy)
    if function.discrete_inds or function.categorical_inds:
        raise ArgumentError.of("function", "one of real numbers", function, "Choose another.")
    return _standard(function).problem(noise, lengthscale)


def _standard(function: Any) -> Standard:
    low, high = (tuple(bound.tolist()) for bound in function.bounds)
    sign = 1.0 if function.is_minimization_problem else -1.0

    def raw(X: Floats) -> Floats:
        """Return what is to be minimised, and the constraints, which BoTorch states as slack >= 0."""
        points = as_tensor(np.clip(X, low, high))
        f = sign * function(points, noise=False)
        return np.asarray(column_stack([f, -function.evaluate_slack_true(points)]))

    best, at = _stated_optimum(function, sign), _feasible_point(raw, Box(low, high))
    return Standard(type(function).__name__, low, high, raw, best, at, source="BoTorch")


def _stated_optimum(function: Any, sign: float) -> float | None:
    try:
        return sign * float(function.optimal_value)
    except NotImplementedError:
        return None


def _feasible_point(raw: Callable[[Floats], Floats], box: Box) -> tuple[float, ...]:
    """Return the point with the largest margin to all constraints that a search finds: feasible ones may be rare."""
    rng = np.random.default_rng(0)
    sample = box.at(rng.random((SAMPLE, box.dimension)))
    unit = raw(sample)[:, 1:].std(axis=0)

    def margin(X: Floats) -> Floats:
        return np.asarray(-(raw(X)[:, 1:] / unit).max(axis=1))

    promising = sample[np.argsort(-margin(sample))]
    return tuple(maximise(Objective(margin, None), box, promising, rng).best.tolist())
