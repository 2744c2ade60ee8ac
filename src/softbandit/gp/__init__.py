"""Gaussian-process regression, which knows nothing of bandits."""

from softbandit.gp.anchored import Anchored, GrowingRows
from softbandit.gp.conditioning import CandidatePosterior
from softbandit.gp.data_arrays import KernelMatrix, RowPosterior
from softbandit.gp.data_space import ArmKernel, DataPosterior
from softbandit.gp.drifting import Drifting
from softbandit.gp.exact import Exact
from softbandit.gp.fitting import Fit, fit
from softbandit.gp.interpolation import interpolation_error
from softbandit.gp.kernel import Kernel, Rate, checked_kernel
from softbandit.gp.kernels import Linear, Matern, SquaredExponential, Tabular
from softbandit.gp.learning import learn, subset, subset_of_points
from softbandit.gp.nystrom import Budgeted
from softbandit.gp.outliers import in_turn, near_the_middle, without_outliers
from softbandit.gp.pivot_posterior import PivotPosterior
from softbandit.gp.pivoted_cholesky import TOLERANCE, Features, checked_features, features, tolerance_for
from softbandit.gp.point_effects import PointEffects, PointPosterior, Repeats
from softbandit.gp.prior_samples import FREQUENCIES, Path
from softbandit.gp.weight_space import ArmPosterior, Posterior
