"""Outputs that share a kernel and lambda, and the form that their posterior over finite arms has.

| form | when |
|---|---|
| weight space, gp/weight_space.py | the rank is low, or functions are sampled, which takes features of all arms |
| data space, gp/data_space.py | the rank is high: the kernel is not factorised |
| the same in arrays, gp/data_arrays.py | in a compiled program, if it plays no more rounds than there are arms |
"""

from dataclasses import dataclass, replace

from softbandit.backend.shapes import ArmIndex, Floats, Ints, OutputsPerArm, PerArm, PerOutput
from softbandit.backend.traced_fields import HostOnly, Traced
from softbandit.backend.vocabulary import namespace
from softbandit.gp import ArmKernel, DataPosterior, Features, Kernel, KernelMatrix, RowPosterior, weight_space
from softbandit.gp.low_rank_root import FEW_FEATURES
from softbandit.gp.weight_space import ArmPosterior, WeightPosterior
from softbandit.model.beliefs import ArmBelief, Belief, PointBelief

Factor = Features | ArmKernel  # a kernel on the arms, factorised or not
InDataSpace = DataPosterior | RowPosterior
Posterior = ArmPosterior | WeightPosterior | InDataSpace

LARGEST_MATRIX = 2**30  # bytes of a kernel between all arms


@dataclass(frozen=True, eq=False)
class Group:
    """Outputs that share a kernel and lambda, and so a posterior."""

    outputs: Ints  # their numbers
    kernel: HostOnly[Kernel]
    factor: Traced[Factor | KernelMatrix]
    regularisation: Traced[float]
    weights_only: bool  # functions are only sampled: the posterior of the weights is enough
    compiled: HostOnly[bool] = False  # its state has a fixed shape

    @property
    def features(self) -> Features:
        """The features of the kernel, which is factorised now if it has not been."""
        assert not isinstance(self.factor, KernelMatrix)
        return self.factor if isinstance(self.factor, Features) else self.factor.features

    @property
    def matrix(self) -> Floats:
        """The kernel between all arms, in data space."""
        assert not isinstance(self.factor, Features)
        return self.factor.matrix

    def in_arrays(self, rounds: int) -> "Group":
        """Return the group for up to so many rounds, with a state of a fixed shape."""
        n = len(self.factor.diag)
        if isinstance(self.factor, ArmKernel) and rounds <= n and 8 * n * n <= LARGEST_MATRIX:
            return replace(self, factor=KernelMatrix(self.matrix, rounds), compiled=True)
        return replace(self, factor=self.features, compiled=True)

    def prior(self, trials: int) -> Posterior:
        if isinstance(self.factor, ArmKernel):
            return self.factor.prior(self.regularisation, len(self.outputs), trials)
        if isinstance(self.factor, KernelMatrix):
            return self.factor.prior(len(self.outputs), trials)
        prior = weight_space.weight_prior if self.weights_only else weight_space.prior
        in_terms = self.factor.rank > FEW_FEATURES and not self.compiled
        return prior(self.factor, len(self.outputs), trials, in_terms)

    def condition(self, state: Posterior, arm: ArmIndex, y: PerOutput) -> Posterior:
        if isinstance(state, DataPosterior):
            return state.condition(self.regularisation, arm, y)
        if isinstance(state, RowPosterior):
            return state.condition(self.matrix, self.regularisation, arm, y)
        return weight_space.condition(self.features, self.regularisation, state, arm, y)

    def refreshed(self, state: Posterior, t: int) -> Posterior:
        return state if isinstance(state, InDataSpace) else weight_space.refreshed(self.features, state, t)

    def belief(self, state: Posterior, members: slice) -> Belief:
        """Return the belief about some outputs of the group."""
        if isinstance(state, InDataSpace):
            return PointBelief(state.mu[:, members], namespace(state.var).sqrt(state.var)[:, None])
        return ArmBelief(self.features, state, members)

    def mean(self, state: Posterior) -> OutputsPerArm:
        return state.mu if isinstance(state, InDataSpace) else weight_space.mean(self.features, state)

    def variance(self, state: Posterior) -> PerArm:
        return state.var if isinstance(state, InDataSpace) else weight_space.variance(self.features, state)

    def covariance(self, state: Posterior, columns: slice = slice(None)) -> Floats:
        """Return k_t(x, x') for all x and some x': (trials, n, columns)."""
        if isinstance(state, DataPosterior):
            return state.covariance(columns)
        if isinstance(state, RowPosterior):
            return state.covariance(self.matrix, columns)
        return weight_space.covariance(self.features, state, columns)
