"""The best mixture of arms, in every trial at once: a linear program, solved by the simplex method.

    maximise E_pi[f]  subject to  E_pi[g_i] <= 0 for i = 1, ..., m,  over mixtures pi of n arms

Its dual is the minimum over phi >= 0 of max_x f(x) - phi . g(x): at the prices phi per unit of
cost, no arm is better than those of the mixture.

| symbol | meaning | shape |
|---|---|---|
| A | columns (1, g(x)) of the arms, then those of each constraint's slack and of its violation | b x (1+m) x N |
| c | objectives of each column: -1 for a violation, which goes first, and f(x) | b x 2 x N |
| basis | the 1 + m columns in use | b x (1+m) |
| inverse | inverse of their matrix; its first column is their weights w, as A w = (1, 0, ...) | b x (1+m) x (1+m) |
| y | prices of the rows for each objective: (max_x f(x) - phi . g(x), phi) for the second | b x 2 x (1+m) |

with N = n + 2m. That a violation goes first is a penalty of infinite size: it remains only if no
mixture meets the constraints. A pivot replaces one column of the basis, and costs O(m N).
"""

from typing import NamedTuple

import numpy as np

from softbandit.backend.engine_operations import operations
from softbandit.backend.shapes import ArmIndex, ArmMask, Bools, Floats, Ints, OutputsPerArm, PerArm, PerCost, PerTrial
from softbandit.backend.vocabulary import at_arm, namespace

MOST_PIVOTS = 1000  # 4 to 14 are usual; rounding must not make a program go on for ever


class Mixture(NamedTuple):
    """A mixture of at most 1 + m arms in each trial, and the prices of the costs."""

    arms: Ints  # (b, 1 + m), ascending; an arm may be repeated with weight 0
    weights: Floats  # (b, 1 + m)
    value: PerTrial  # E_pi[f]
    price: PerCost  # phi; infinite for a constraint that cannot be met together with the others
    feasible: Bools  # (b,)

    def over_arms(self, n: int) -> PerArm:
        """Return the weights of all n arms."""
        xp = namespace(self.weights)
        return xp.sum(xp.where(self.arms[:, :, None] == np.arange(n), self.weights[:, :, None], 0.0), axis=1)

    def draw(self, uniform: PerTrial) -> ArmIndex:
        """Return an arm ~ pi, from one uniform number in (0, 1) per trial."""
        xp = namespace(self.weights)
        up_to = xp.cumulative_sum(self.weights, axis=1)
        place = xp.sum(up_to[:, :-1] <= uniform[:, None], axis=1)
        return xp.take_along_axis(self.arms, place[:, None], axis=1)[:, 0]


class Program(NamedTuple):
    """The linear program of each trial, with f and every g_i divided by its size."""

    A: Floats
    c: Floats
    limits: Floats  # (1 + m,): of the rows A w, slightly above (1, 0, ..., 0)
    allowed: Bools  # (b, N): columns that may enter the basis
    tolerance: float  # numbers up to it count as zero


class Tableau(NamedTuple):
    """A basis of each trial."""

    basis: Ints
    inverse: Floats
    optimal: Bools  # (b,)
    pivots: int


def best_mixture(f: PerArm, g: OutputsPerArm, among: ArmMask | None = None) -> Mixture:
    """Return the best mixture for rewards f (b, n) and costs g (b, m, n), of the arms in `among` or of all.

    If none meets the constraints, it has the least total violation, sum_i [E_pi[g_i]]_+ / max_x |g_i(x)|, and of
    those the highest reward. If several are best, the first arms are preferred. Both hold up to 1e-8 times the
    largest |f| and |g_i|.

    >>> f, g = np.array([[0.0, 1.0, 2.0]]), np.array([[[-1.0, 3.0, 9.0]]])
    >>> mixture = best_mixture(f, g)
    >>> mixture.arms, mixture.weights, mixture.value, mixture.price
    (array([[0, 1]]), array([[0.75, 0.25]]), array([0.25]), array([[0.25]]))
    """
    xp = namespace(f)
    allowed = xp.broadcast_to(np.array(True) if among is None else among, f.shape)
    f_size, g_size = _size(f, allowed), _size(g, allowed[:, None])
    program = _program(f / f_size[:, None], g / g_size[:, :, None], allowed)
    final = operations(f).repeat_while(
        lambda tableau: (~tableau.optimal).any() & (tableau.pivots < MOST_PIVOTS),
        lambda tableau: _pivot(program, tableau),
        _first(program, g.shape[1]),
    )
    return _mixture(program, final, f, f_size[:, None] / g_size)


def _size(values: Floats, allowed: Bools) -> Floats:
    """Return the largest magnitude over the arms, to divide by: the tolerance is absolute."""
    xp = namespace(values)
    largest = xp.max(xp.where(allowed, xp.abs(values), 0.0), axis=-1)
    return xp.where(largest > 0, largest, 1.0)


def _program(f: PerArm, g: OutputsPerArm, allowed: ArmMask) -> Program:
    """Return the program, given f and g of size 1."""
    xp = namespace(f)
    b, m, _ = g.shape
    slack = np.eye(1 + m, m, k=-1, dtype=f.dtype)  # (1 + m, m): added to row i, and a violation is subtracted from it
    signs = xp.broadcast_to(np.concatenate([slack, -slack], axis=1), (b, 1 + m, 2 * m))
    A = xp.concat([xp.concat([xp.ones_like(f)[:, None], g], axis=1), signs], axis=2)
    none = xp.zeros_like(g[:, :, 0])
    violation = xp.concat([xp.zeros_like(f), none, none - 1.0], axis=1)
    reward = xp.concat([f, none, none], axis=1)
    columns = xp.concat([allowed, signs[:, 0] == 0], axis=1)  # all of the others
    eps = float(np.finfo(f.dtype).eps)
    # Limits slightly above 0 (4e-10 to 8e-10), all different, so that every pivot moves weight and no basis returns.
    limits = np.append(1.0, eps**0.6 * (1 + np.arange(m) / (1 + m))).astype(f.dtype)
    return Program(A, xp.stack([violation, reward], axis=1), limits, columns, eps**0.5)


def _first(program: Program, m: int) -> Tableau:
    """Return the basis of the arm with the highest reward, and the slacks or violations that go with it."""
    xp = namespace(program.A)
    n = program.A.shape[2] - 2 * m
    f = xp.where(program.allowed[:, :n], program.c[:, 1, :n], -np.inf)
    arm = (f >= xp.max(f, axis=1)[:, None] - program.tolerance).argmax(axis=1)
    g = at_arm(program.A, arm)[:, 1:]
    sign = xp.where(g <= 0, 1.0, -1.0)
    slack = n + np.arange(m)
    basis = xp.concat([arm[:, None], xp.where(g <= 0, slack, slack + m)], axis=1)
    # The inverse of [[1, 0], [g, D]] with D = diag(sign), which is its own inverse.
    below = xp.concat([-(sign * g)[:, :, None], sign[:, :, None] * np.eye(m)], axis=2)
    inverse = xp.concat([xp.broadcast_to(np.array(np.eye(1, 1 + m)), (len(g), 1, 1 + m)), below], axis=1)
    return Tableau(basis, inverse.astype(program.A.dtype), arm < 0, 0)  # none is known to be optimal


def _pivot(program: Program, tableau: Tableau) -> Tableau:
    """Return the tableau after one column has entered the basis of each trial that is not optimal yet."""
    xp = namespace(program.A)
    basis, inverse, _, pivots = tableau
    gain = _gains(program, tableau)
    highest = xp.max(gain, axis=1)
    enters = (gain > xp.maximum(highest - program.tolerance, program.tolerance)[:, None]).argmax(axis=1)
    d = xp.matvec(inverse, at_arm(program.A, enters))  # the weights of the basis change by -d per unit that enters
    falls = d > program.tolerance
    optimal = ~(highest > program.tolerance) | ~xp.any(falls, axis=1)  # the second by rounding only
    steps = xp.where(falls, xp.maximum(inverse @ program.limits, 0.0) / xp.where(falls, d, 1.0), np.inf)
    leaves = steps.argmin(axis=1)
    here = (leaves[:, None] == np.arange(basis.shape[1])) & ~optimal[:, None]
    basis = xp.where(here, enters[:, None], basis)
    exchanged = _refined(_exchanged(inverse, d, here), xp.take_along_axis(program.A, basis[:, None], axis=2))
    # An optimal trial stays as it is, to the bit, while others go on.
    return Tableau(basis, xp.where(optimal[:, None, None], inverse, exchanged), optimal, pivots + 1)


def _gains(program: Program, tableau: Tableau) -> Floats:
    """Return what each column would gain per unit of weight (b, N): in the first objective, then in the second."""
    xp = namespace(program.A)
    gains = xp.where(program.allowed[:, None], program.c - _prices(program, tableau) @ program.A, -np.inf)
    first, second = gains[:, 0], gains[:, 1]
    unfinished = xp.any(first > program.tolerance, axis=1)[:, None]
    return xp.where(unfinished, first, xp.where(first < -program.tolerance, -np.inf, second))


def _prices(program: Program, tableau: Tableau) -> Floats:
    """Return y."""
    of_basis = namespace(program.c).take_along_axis(program.c, tableau.basis[:, None], axis=2)
    return of_basis @ tableau.inverse


def _exchanged(inverse: Floats, d: Floats, here: Bools) -> Floats:
    """Return the inverse after the column where `here` is true was replaced."""
    xp = namespace(d)
    pivot = xp.sum(xp.where(here, d, 0.0), axis=1)[:, None]
    row = xp.sum(xp.where(here[:, :, None], inverse, 0.0), axis=1) / xp.where(pivot > 0, pivot, 1.0)
    return xp.where(here[:, :, None], row[:, None], inverse - d[:, :, None] * row[:, None])


def _refined(inverse: Floats, matrix: Floats) -> Floats:
    """Return the inverse after a Newton step, which removes the rounding of the pivots before."""
    return inverse + inverse @ (np.eye(matrix.shape[-1], dtype=matrix.dtype) - matrix @ inverse)


def _mixture(program: Program, tableau: Tableau, f: PerArm, price_unit: PerCost) -> Mixture:
    """Return the solution in the caller's units."""
    xp = namespace(f)
    n, m = f.shape[1], price_unit.shape[1]
    w = xp.maximum(tableau.inverse[:, :, 0], 0.0)
    violated = xp.sum(xp.where(tableau.basis >= n + m, w, 0.0), axis=1)
    w = xp.where(tableau.basis < n, w, 0.0)
    heaviest = xp.take_along_axis(tableau.basis, w.argmax(axis=1)[:, None], axis=1)
    arms = xp.where(tableau.basis < n, tableau.basis, heaviest)  # a slack is no arm
    order = xp.argsort(arms, axis=1)
    arms, w = xp.take_along_axis(arms, order, axis=1), xp.take_along_axis(w, order, axis=1)
    w = w / xp.sum(w, axis=1)[:, None]
    value = xp.sum(w * xp.take_along_axis(f, arms, axis=1), axis=1)
    y = _prices(program, tableau)[:, :, 1:]
    price = xp.where(y[:, 0] > program.tolerance, np.inf, xp.maximum(y[:, 1], 0.0) * price_unit)
    return Mixture(arms, w, value, price, violated <= program.tolerance)
