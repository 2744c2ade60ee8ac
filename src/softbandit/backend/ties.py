"""The best arm of each trial, and what happens when several are equally good."""

from collections.abc import Callable

from softbandit.backend.engine_operations import operations
from softbandit.backend.shapes import ArmIndex, ArmMask, PerArm, PerTrial
from softbandit.backend.vocabulary import at_arm, namespace

TIE = 1e-12  # values this close to the maximum, relative to the terms they are sums of, tie with it


def best_arm(z: PerArm, uniform: PerTrial | None, scale: Callable[[ArmIndex], PerTrial] | None = None) -> ArmIndex:
    """Return an arm that maximises each row of z, up to rounding.

    Rounding is relative to scale(arm) (b,), the sum of the magnitudes of the terms in z at an
    arm; |z| by default. Ties are broken by uniform numbers in (0, 1), or for the first arm if None.
    """
    ops = operations(z)
    argmax = ops.first_max(z)
    highest = at_arm(z, argmax)
    size = namespace(z).abs(highest) if scale is None else scale(argmax)
    candidates = ~(z < (highest - TIE * size)[:, None])  # a trial of NaN has all arms, not none
    return ops.resolve_ties(candidates, argmax, lambda: pick(candidates, uniform))


def pick(candidates: ArmMask, uniform: PerTrial | None) -> ArmIndex:
    """Return one candidate per trial: number floor(uniform x count) of them, or the first if `uniform` is None."""
    if uniform is None:
        first: ArmIndex = candidates.argmax(axis=1)
        return first
    return operations(candidates).pick(candidates, uniform)
