"""Every kernel under one name, `sb.kernels`: softbandit's, and those of scikit-learn."""

from typing import Any

from softbandit.gp import Kernel, Linear, Matern, SquaredExponential, Tabular

__all__ = ["Kernel", "Linear", "Matern", "SquaredExponential", "Tabular", "from_sklearn"]


def from_sklearn(kernel: Any) -> Kernel:
    """Return a kernel of scikit-learn as one of softbandit, for use wherever a kernel is.

    Its parameters that are not fixed are learned from data, by its own `eval_gradient`; `fit` and Autopilot set the
    bounds. Noise is not part of a kernel here: a `WhiteKernel` is refused.

    >>> from sklearn.gaussian_process.kernels import RBF, RationalQuadratic
    >>> from_sklearn(RBF(0.3) * RationalQuadratic(length_scale=0.5, alpha=2.0)).parameters()
    (0.3, 2.0, 0.5)
    """
    from softbandit.integrations.sklearn import FromSklearn

    return FromSklearn(kernel)
