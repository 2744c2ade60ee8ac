"""The problems that decisions.py compares methods on, by family. A builder takes the number of the seed."""

import softbandit as sb

STORM = ("SS-A", "SS-C", "SS-D", "SS-E")


def measured(name, **options):
    return lambda seed: sb.problems.measured(name, **options)


def rkhs(**options):
    """Return the builder of random instances: another one for each seed."""
    return lambda seed: sb.problems.rkhs(seed=seed, **options)


FAMILIES = {
    "storm": {name + suffix: measured(name, log=bool(suffix)) for name in STORM for suffix in ("", "-log")},
    "databases": {
        "SS-M": measured("SS-M"),
        "SS-O": measured("SS-O"),
        "SS-Q": measured("SS-Q"),
        "SS-M-2": measured("SS-M", limits=2),
        "SS-Q-2": measured("SS-Q", limits=2),
    },
    "rkhs": {
        "rkhs-1d": rkhs(),
        "rkhs-2d": rkhs(dimension=2, arms=400),
        "rkhs-2-limits": rkhs(constraints=2),
    },
    "services": {"cloud": lambda seed: sb.problems.cloud(), "wireless": lambda seed: sb.problems.wireless()},
    "spaces": {
        "rkhs-on": lambda seed: sb.problems.rkhs_on(sb.Box([0, 0], [1, 1]), seed=seed),
        **{name: lambda seed, name=name: sb.problems.standard(name) for name in sb.problems.STANDARD},
    },
}
PROBLEMS = {name: build for family in FAMILIES.values() for name, build in family.items()}


FAMILY_OF = {name: family for family, members in FAMILIES.items() for name in members}
RANDOM = ("rkhs-1d", "rkhs-2d", "rkhs-2-limits", "rkhs-on")  # another instance for each seed
