"""Description of what is tuned: parameters, the metric, limits and settings, checked, and as JSON for a store."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from softbandit import errors, validation
from softbandit.backend import Floats
from softbandit.domains import Space, Values
from softbandit.errors import ArgumentError, FeedbackError
from softbandit.tuner.words import description_checks as checks
from softbandit.tuner.words.description_json import packed, unpacked, unpacked_space
from softbandit.tuner.words.limits import Limit, metric_name

VERSION = 1
NONE = errors.Description("none")


@dataclass(frozen=True, eq=False)
class Description:
    """Everything about a tuner that its user chose. Two are equal if `differences` finds none.

    Parameters
    ----------
    space
        The parameters to tune: a `Space`, or names and parameters.
    metric, maximize
        The metric that is maximised, or minimised if `maximize` is False.
    limits
        Limits on the same or other metrics.
    baseline
        A known-good configuration.
    context
        What is known about a round before its configuration is chosen, described as a space; None if nothing is.
    rounds
        The number of rounds, if it is known.
    forget
        The number of rounds after which old data count half, "auto", or None to forget nothing.
    explore_share
        The largest share of rounds that may play something else than the best configuration so far.
    deadline
        The seconds after which a round without feedback no longer counts as pending.
    noise
        The standard deviation of the noise of some metrics, where it is known.
    seed
        The seed of all randomness.
    """

    space: Space
    metric: str
    maximize: bool = True
    limits: tuple[Limit, ...] = ()
    baseline: Values | None = None
    context: Space | None = None
    rounds: int | None = None
    forget: int | str | None = None
    explore_share: float | None = None
    deadline: float | None = None
    noise: dict[str, float] | None = None
    seed: int = 0

    @classmethod
    def of(cls, *, maximize: str | None = None, minimize: str | None = None, **settings: Any) -> Self:
        """Return a description in the words of `Tuner`, whose `maximize` and `minimize` name the metric."""
        given = [(name, flag) for name, flag in ((maximize, True), (minimize, False)) if name is not None]
        if len(given) != 1:
            got = errors.Description("both" if given else "neither")
            raise ArgumentError.of("maximize, minimize", "one of them", got, 'For example maximize="rows_per_s".')
        return cls(metric=given[0][0], maximize=given[0][1], **settings)

    def __post_init__(self) -> None:
        space, context = checks.space("space", self.space), checks.optional(checks.space, "context", self.context)
        validation.store(self, space=space, context=context, metric=metric_name("metric", self.metric))
        validation.store(self, maximize=validation.flag("maximize", self.maximize), limits=checks.limits(self.limits))
        self._check_names()
        if self.baseline is not None:
            validation.store(self, baseline=checks.values("baseline", space, self.baseline))
        validation.store(
            self,
            rounds=checks.optional(checks.rounds, "rounds", self.rounds),
            forget=checks.optional(checks.half_life, "forget", self.forget),
            explore_share=checks.optional(checks.share, "explore_share", self.explore_share),
            deadline=checks.optional(validation.positive, "deadline", self.deadline),
            noise=self._checked_noise(),
            seed=validation.seed(self.seed),
        )
        checks.finite_numbers("space", self.to_json())

    def _check_names(self) -> None:
        """Refuse a parameter that is also a context: a row of the history has one value under each name."""
        shared = set(dict(self.space.parameters)) & set(dict(self.context.parameters) if self.context else ())
        if shared:
            expected = "names that are not those of parameters"
            raise ArgumentError.of("context", expected, sorted(shared)[0], "Choose another name.")

    def _checked_noise(self) -> dict[str, float]:
        if self.noise is None:
            return {}
        remedy = 'For example {"latency_ms": 2}.'
        validation.instance("noise", self.noise, Mapping, "a number for each of some metrics", remedy)
        for name in self.noise:
            validation.named("noise", name, dict.fromkeys(self.metrics))
        return {name: validation.positive(f"noise of {name}", scale) for name, scale in self.noise.items()}

    # -- Metrics. --

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that every round must report: the one that is maximised or minimised, then those with limits."""
        return tuple(dict.fromkeys([self.metric, *(limit.metric for limit in self.limits)]))

    @property
    def sign(self) -> float:
        """1 if the metric is maximised, -1 if it is minimised: the reward is `sign` times the metric."""
        return 1.0 if self.maximize else -1.0

    @property
    def goal(self) -> str:
        return f"{'maximize' if self.maximize else 'minimize'} {self.metric}"

    def check_metrics(self, metrics: Mapping[str, object]) -> dict[str, Any]:
        """Return the metrics of a round: those that are needed as numbers, and others as they are."""
        expected = "a number for each metric"
        if not isinstance(metrics, Mapping) or not all(isinstance(name, str) for name in metrics):
            raise FeedbackError.of("metrics", expected, metrics, f"For example {self.metric}=1.5.")
        missing = [name for name in self.metrics if name not in metrics]
        if missing:
            got, remedy = errors.Description(", ".join(metrics) or "none"), f"Report {', '.join(self.metrics)}."
            raise FeedbackError.of("metrics", f"a number for {missing[0]!r}", got, remedy)
        checked = {name: checks.measurement(name, metrics[name]) for name in self.metrics}
        others = {name: checks.remark(name, value) for name, value in metrics.items() if name not in checked}
        return checked | others

    def outputs(self, metrics: Mapping[str, Any]) -> Floats:
        """Return the reward and the cost of each limit, (1 + m,)."""
        costs = [limit.cost(metrics[limit.metric]) for limit in self.limits]
        return np.array([self.sign * metrics[self.metric], *costs])

    @property
    def output_noise(self) -> tuple[float | None, ...]:
        """The noise of each output where it is known."""
        noise = self.noise or {}
        return (noise.get(self.metric), *(limit.cost_noise(noise.get(limit.metric)) for limit in self.limits))

    # -- Other forms. --

    def changed(self, **changes: Any) -> "Description":
        """Return it with other settings, in the words of `Tuner`."""
        words = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("metric", "maximize")}
        words |= {"maximize" if self.maximize else "minimize": self.metric}
        changeable = {*words, "maximize", "minimize"} - {"seed"}
        for name in changes:
            validation.named("setting", name, dict.fromkeys(changeable))
        if {"maximize", "minimize"} & changes.keys():
            words = {name: value for name, value in words.items() if name not in ("maximize", "minimize")}
        without_noise = Description.of(**words | changes | {"noise": None})
        kept = {name: scale for name, scale in (self.noise or {}).items() if name in without_noise.metrics}
        return replace(without_noise, noise=changes.get("noise", kept))

    def to_json(self) -> dict[str, Any]:
        """Return it as what JSON can hold; numbers are exact."""
        settings = {f.name: packed(getattr(self, f.name)) for f in fields(self)}
        return {"version": VERSION, **settings}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the description that `to_json` gave."""
        if not isinstance(data, Mapping) or data.get("version") != VERSION:
            got = data.get("version") if isinstance(data, Mapping) else data
            raise ArgumentError.of("description", f"version {VERSION}", got, "Use the softbandit that wrote it.")
        try:
            settings = {f.name: data[f.name] for f in fields(cls)}
            space, context = unpacked_space(settings["space"]), unpacked_space(settings["context"])
            limits = [unpacked(limit) for limit in settings["limits"]]
        except (KeyError, TypeError, ValueError) as error:
            raise ArgumentError.of("description", "one that softbandit wrote", data, f"It has {error!r}.") from error
        return cls(**settings | {"space": space, "context": context, "limits": limits})

    def differences(self, other: "Description") -> list[str]:
        """Return in words what is different in the other one; nothing if they are the same."""
        return [f"{what}: {old}, now {new}" for what, old, new in self._compared(other) if old != new]

    def _compared(self, other: "Description") -> Iterator[tuple[str, str, str]]:
        """Yield the settings of both as text: values such as 1, 1.0 and True differ."""
        yield "goal", self.goal, other.goal
        for part in ("space", "context"):
            old, new = ({} if a is None else dict(a.parameters) for a in (getattr(self, part), getattr(other, part)))
            for name in dict.fromkeys([*old, *new]):
                yield f"{part}, {name}", repr(old.get(name, NONE)), repr(new.get(name, NONE))
        old_limits, new_limits = ({limit.text for limit in a.limits} for a in (self, other))
        for text in dict.fromkeys([*(a.text for a in self.limits), *(a.text for a in other.limits)]):
            yield "limits", text if text in old_limits else "none", text if text in new_limits else "none"
        for name in ("baseline", "rounds", "forget", "explore_share", "deadline", "noise", "seed"):
            yield name, _sorted_text(getattr(self, name)), _sorted_text(getattr(other, name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Description) and not self.differences(other)

    __hash__ = None  # type: ignore[assignment]


def _sorted_text(value: object) -> str:
    return repr(dict(sorted(value.items()))) if isinstance(value, Mapping) else repr(value)
