"""The selection rule of policies that look for one feasible arm."""

from softbandit.backend import ArmMask, OutputsPerArm, PerArm, namespace, restrict


def feasible_or_least_violating(f: PerArm, g: OutputsPerArm, among: ArmMask | None) -> PerArm:
    """Return what to maximise: f over the arms with every g_i <= 0 or, in trials with none, -sum_i [g_i]_+."""
    xp = namespace(f)
    feasible = xp.all(g <= 0, axis=1)
    feasible = feasible if among is None else feasible & among
    least = restrict(-xp.sum(xp.maximum(g, 0.0), axis=1), among)
    return xp.where(xp.any(feasible, axis=1)[:, None], restrict(f, feasible), least)
