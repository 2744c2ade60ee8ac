"""Kernels of scikit-learn as kernels of softbandit."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.errors import KernelError, needs_extra
from softbandit.gp.kernel import Kernel

LENGTHS = ("length_scale", "periodicity")  # parameters in the unit of the points


def from_sklearn(kernel: Any) -> Kernel:
    """Return a kernel of scikit-learn as one of softbandit, for use wherever a kernel is.

    Its parameters that are not fixed are learned from data, by its own `eval_gradient`; `fit` and Autopilot set the
    bounds. Noise is not part of a kernel here: a `WhiteKernel` is refused.

    >>> from sklearn.gaussian_process.kernels import RBF, RationalQuadratic
    >>> from_sklearn(RBF(0.3) * RationalQuadratic(length_scale=0.5, alpha=2.0)).parameters()
    (0.3, 2.0, 0.5)
    """
    with needs_extra("sklearn", "sklearn"):
        from sklearn.gaussian_process import kernels

    remedy = "For example sklearn.gaussian_process.kernels.RBF(0.3)."
    validation.instance("kernel", kernel, kernels.Kernel, "a kernel of scikit-learn", remedy)
    parts = (kernel, *kernel.get_params().values())
    if any(isinstance(part, kernels.WhiteKernel | kernels.CompoundKernel) for part in parts):
        remedy = "Leave noise out: it is a setting of policies, or learned beside the kernel."
        raise KernelError.of("kernel", "one function, without noise", kernel, remedy)
    return FromSklearn(copy.deepcopy(kernel))  # theirs can be changed


@dataclass(frozen=True)
class FromSklearn(Kernel):
    """A kernel of scikit-learn. Its parameters are those that are not fixed."""

    kernel: Any

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
        given, kernel = list(values), copy.deepcopy(self.kernel)
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
