"""Kernels of scikit-learn as kernels of softbandit, and the other way round."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.errors import KernelError, needs_extra
from softbandit.gp import Kernel, checked_kernel
from softbandit.gp.kernel import STEP

with needs_extra("sklearn", "sklearn"):
    from sklearn.base import clone
    from sklearn.gaussian_process import kernels as theirs

LENGTHS = ("length_scale", "periodicity")  # parameters in the unit of the points
BOUNDS = (1e-5, 1e5)  # of each parameter, as scikit-learn has them by default


@dataclass(frozen=True)
class FromSklearn(Kernel):
    """A kernel of scikit-learn. Its parameters are those that are not fixed."""

    kernel: Any

    def __post_init__(self) -> None:
        remedy = "For example sklearn.gaussian_process.kernels.RBF(0.3)."
        validation.instance("kernel", self.kernel, theirs.Kernel, "a kernel of scikit-learn", remedy)
        parts = (self.kernel, *self.kernel.get_params().values())
        if any(isinstance(part, theirs.WhiteKernel | theirs.CompoundKernel) for part in parts):
            remedy = "Leave it out: noise is a setting of policies, or learned beside the kernel."
            raise KernelError.of("kernel", "one function, without noise", self.kernel, remedy)
        validation.store(self, kernel=clone(self.kernel))  # theirs can be changed

    def __hash__(self) -> int:
        return hash(repr(self.kernel))

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        return np.asarray(self.kernel(X, Y))

    def diag(self, X: Floats) -> Floats:
        return np.asarray(self.kernel.diag(X))

    @property
    def _free(self) -> list[Any]:
        return [parameter for parameter in self.kernel.hyperparameters if not parameter.fixed]

    def parameters(self) -> tuple[float, ...]:
        values = self.kernel.get_params()
        return tuple(float(value) for parameter in self._free for value in np.atleast_1d(values[parameter.name]))

    def parameter_units(self, spread: Floats) -> tuple[float | None, ...]:
        return tuple(unit for parameter in self._free for unit in _units(parameter, spread))

    def with_parameters(self, values: Sequence[float]) -> "FromSklearn":
        given, kernel = list(values), clone(self.kernel)
        for parameter in self._free:
            n = parameter.n_elements
            kernel.set_params(**{parameter.name: np.array(given[:n]) if n > 1 else given[0]})
            given = given[n:]
        return FromSklearn(kernel)

    def parameter_gradients(self, X: Floats, W: Floats) -> list[float]:
        _, gradient = self.kernel(X, eval_gradient=True)  # (n, n, parameters), with respect to their logarithms
        return [float(total) for total in np.einsum("ij,ijp->p", W, gradient)]


def _units(parameter: Any, spread: Floats) -> list[float | None]:
    if parameter.name.rpartition("__")[2] not in LENGTHS:
        return [None] * parameter.n_elements
    return list(map(float, spread)) if parameter.n_elements > 1 else [float(spread.max())]


class SoftbanditKernel(theirs.Kernel):
    """A kernel of softbandit for scikit-learn: for `GaussianProcessRegressor`, and to combine with others.

    >>> import softbandit as sb
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = GaussianProcessRegressor(SoftbanditKernel(sb.Matern(0.3)), alpha=1e-4)
    >>> model.fit(X, np.sin(6 * X[:, 0])).predict([[0.5]]).round(2)
    array([0.14])
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = checked_kernel("kernel", kernel)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        points = np.atleast_2d(X)
        K = self.kernel(points, points if Y is None else np.atleast_2d(Y))
        return (K, self._gradient(points)) if eval_gradient else K

    def diag(self, X: Any) -> Floats:
        return self.kernel.diag(np.atleast_2d(X))

    def is_stationary(self) -> bool:
        """Return False: whether a kernel is stationary is not known of softbandit's."""
        return False

    @property
    def hyperparameter_parameters(self) -> Any:
        n = len(self.kernel.parameters())
        return theirs.Hyperparameter("parameters", "numeric", BOUNDS if n else "fixed", n)

    @property
    def theta(self) -> Floats:
        return np.log(self.kernel.parameters())

    @theta.setter
    def theta(self, theta: Floats) -> None:
        self.kernel = self.kernel.with_parameters(np.exp(theta).tolist())

    def __repr__(self) -> str:
        return f"SoftbanditKernel({self.kernel!r})"

    def _gradient(self, X: Floats) -> Floats:
        """Return d k(x_i, x_j) / d theta_p, (n, n, parameters), by differences."""
        values = np.array(self.kernel.parameters())
        gradient = np.empty((len(X), len(X), len(values)))
        for p, step in enumerate(STEP * np.eye(len(values))):
            above, below = (self.kernel.with_parameters((values * np.exp(s)).tolist()) for s in (step, -step))
            gradient[:, :, p] = (above(X, X) - below(X, X)) / (2 * STEP)
        return gradient
