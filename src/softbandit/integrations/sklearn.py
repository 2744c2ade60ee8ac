"""Kernels of softbandit as kernels of scikit-learn; `sb.kernels.from_sklearn` is the other way round."""

from typing import Any

import numpy as np

from softbandit.backend import Floats
from softbandit.errors import needs_extra
from softbandit.gp import Kernel, checked_kernel
from softbandit.gp.kernel import STEP

with needs_extra("sklearn", "sklearn"):
    from sklearn.gaussian_process import kernels as theirs

BOUNDS = (1e-5, 1e5)  # of each parameter, as scikit-learn has them by default


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
