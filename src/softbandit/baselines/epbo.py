"""EPBO: exact penalty Bayesian optimisation."""

from dataclasses import dataclass

from softbandit import validation
from softbandit.backend import OutputsPerArm, PerArm, Traced, namespace
from softbandit.errors import ArgumentError
from softbandit.policies import About, AcquisitionPolicy, State, slater_margin


@dataclass(frozen=True, eq=False)
class EPBO(AcquisitionPolicy):
    """Optimistic bounds u_f, l_i:

    x_t = argmax u_f(x) - rho sum_i [l_i(x)]_+

    Lu & Paulson 2022, *No-regret Bayesian optimization with unknown equality and inequality
    constraints using exact penalty functions*, without its equality constraints.

    Parameters
    ----------
    penalty
        rho, which must exceed the optimal dual; 4 B / delta by default, as for CKB. Public programs have a fixed
        number, such as 1 or 10,000.
    """

    penalty: Traced[float | None] = None

    about = About(
        "upper bound of the reward less a fixed penalty on certain violation",
        "Lu & Paulson 2022",
        "horizon; a penalty above the optimal dual, or the Slater margin",
        "penalised regret sublinear (as published)",
    )

    def _complete(self) -> None:
        if self.penalty is None and self.slater is None and self.constraints:
            raise ArgumentError.of("penalty", "a number above 0", None, "Pass it, or else slater.")
        default = 4 * float(self.bounds[0, 0]) / slater_margin(self.slater) if self.slater is not None else 1.0
        self._set(penalty=default if self.penalty is None else validation.positive("penalty", self.penalty))

    def acquisition(self, state: State, u_f: PerArm, l_g: OutputsPerArm) -> PerArm:
        assert self.penalty is not None
        xp = namespace(l_g)
        return u_f - self.penalty * xp.sum(xp.maximum(l_g, 0.0), axis=1)
