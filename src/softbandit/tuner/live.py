"""Tuner: ask for values to try, tell what came of them, from any number of processes, on a store that loses nothing."""

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from softbandit import validation
from softbandit.atomic_write import real_path, replacing
from softbandit.backend.display import html_text
from softbandit.drawing import figure_path
from softbandit.errors import ArgumentError, DecisionError
from softbandit.tuner.deciding.recommendation import Recommendation
from softbandit.tuner.events import Draft
from softbandit.tuner.live_round import LiveRound
from softbandit.tuner.log_file import read_log, write_log
from softbandit.tuner.observations import observation, rows_in
from softbandit.tuner.reporting.assessment import status_of
from softbandit.tuner.reporting.history_table import frame
from softbandit.tuner.reporting.plots import draw_tuner
from softbandit.tuner.reporting.status import Status
from softbandit.tuner.rounds import Round
from softbandit.tuner.session import Session
from softbandit.tuner.suggestion import Suggestion
from softbandit.tuner.words.description import Description
from softbandit.tuner.words.values import checked_context

if TYPE_CHECKING:
    from softbandit.tuner.storage.store import Store

LONGEST_NAME = 200
DEFAULT_STORE = "softbandit.db"


class Tuner:
    """Find the values that are best by one metric while limits on others hold, on a live system.

    Whoever creates a tuner that the store has already continues it, if the description is the same. Threads may share
    one object, and any number of processes and hosts one store.

    Parameters
    ----------
    name
        The name of the tuner in its store.
    space
        The parameters to tune, by name.
    maximize, minimize
        The metric to optimise: one of the two.
    limits
        What must hold on average, such as `sb.Mean("latency_ms", at_most=12)`.
    baseline
        Values that are known to be good. They are played first, and whenever the tuner is paused.
    context
        What is known before each round but not chosen, by name.
    store
        The path of a SQLite file, or the URL of a PostgreSQL database.
    rounds
        The number of rounds, if it is fixed: the last ones exploit.
    forget
        The number of rounds after which an observation counts half, or "auto".
    explore_share
        The largest share of rounds that are not the best known ones.
    deadline
        The seconds after which a round without a report is no longer waited for.
    noise
        The standard deviation of the noise of metrics, where it is known.
    seed
        Decisions are a function of the seed and the log.

    Examples
    --------
    >>> import tempfile, softbandit as sb
    >>> space = {"clients": sb.Integer(1, 16), "codec": sb.Categorical(["zstd", "lz4"])}
    >>> folder = tempfile.TemporaryDirectory()
    >>> tuner = sb.Tuner("ingest", space=space, maximize="rows_per_s", store=f"{folder.name}/ingest.db")
    >>> suggestion = tuner.ask()
    >>> tuner.tell(suggestion, rows_per_s=41_200)
    >>> [row.status for row in tuner.history()]
    ['told']
    >>> folder.cleanup()
    """

    def __init__(
        self,
        name: str,
        *,
        space: Any,
        maximize: str | None = None,
        minimize: str | None = None,
        limits: Iterable[Any] = (),
        baseline: Mapping[str, Any] | None = None,
        context: Any = None,
        store: Any = DEFAULT_STORE,
        rounds: int | None = None,
        forget: int | str | None = None,
        explore_share: float | None = None,
        deadline: float | None = None,
        noise: Mapping[str, float] | None = None,
        seed: int = 0,
    ) -> None:
        description = Description.of(
            space=space,
            maximize=maximize,
            minimize=minimize,
            limits=limits,
            context=context,
            baseline=baseline,
            rounds=rounds,
            forget=forget,
            explore_share=explore_share,
            deadline=deadline,
            noise=noise,
            seed=seed,
        )
        self._session = Session(_checked_name(name), _opened(store, new=True))
        if not self._session.store.create(self.name, [Draft("created", {"description": description.to_json()})]):
            self._check_same(description)

    @classmethod
    def open(cls, name: str, store: Any = DEFAULT_STORE) -> "Tuner":
        """Continue a tuner that is in the store."""
        tuner = cls.__new__(cls)
        tuner._session = Session(_checked_name(name), _opened(store, new=False))
        with tuner._session.up_to_date():  # an unknown name is refused now
            return tuner

    @classmethod
    def restore(cls, path: str | PathLike[str], store: Any = DEFAULT_STORE) -> "Tuner":
        """Put a tuner that was exported into a store that has none of its name, and continue it."""
        name, drafts = read_log(validation.path("path", path))
        opened = _opened(store, new=True)
        if not opened.create(_checked_name(name), drafts):
            raise ArgumentError.of("store", f"no tuner {name!r}", name, "Restore it into another store.")
        return cls.open(name, store)

    @property
    def name(self) -> str:
        """The name of the tuner in its store."""
        return self._session.name

    def __reduce__(self) -> tuple[Any, ...]:
        return Tuner.open, (self.name, self._session.store.place)

    def __str__(self) -> str:
        return str(self.status())

    def _repr_html_(self) -> str:
        return html_text(str(self))

    def __repr__(self) -> str:
        return f"Tuner({self.name!r}, store={self._session.store.name!r})"

    # -- Rounds. --

    def ask(self, context: Mapping[str, Any] | None = None) -> Suggestion:
        """Return values to try next.

        Suggestions that have no report yet are taken into account, so many may be asked for before the first report.
        """
        return Suggestion.of(self._session.ask(context), self.name)

    def tell(self, suggestion: Suggestion | int, /, *, failed: str | None = None, **metrics: float) -> None:
        """Report what was measured with the values of a suggestion, or that it failed.

        It is on disk when this returns. The same report again has no effect, and a contradicting one is refused.
        """
        self._session.report(self._id_of(suggestion), failed, metrics)

    def fail(self, suggestion: Suggestion | int, reason: str) -> None:
        """Report that a round failed, which is learned from: such values are avoided."""
        self.tell(suggestion, failed=validation.text("reason", reason))

    def round(self, context: Mapping[str, Any] | None = None) -> LiveRound:
        """Return a round for a `with` block, which reports a failure if the block raises an exception."""
        return LiveRound(self, self.ask(context))

    def observe(self, values: Any, metrics: Mapping[str, float] | None = None, context: Any = None) -> None:
        """Learn from what was measured without asking, such as last week's log.

        Pass the values and the metrics of one measurement; or rows that hold both by name, in a list of dicts, any
        other iterable of mappings, or a data frame. They are stored together or, if one of them is wrong, not at all.
        """
        rows = rows_in(values, metrics, context)
        self._session.append(lambda description: [observation(row, description) for row in rows])

    # -- What is known. --

    @property
    def description(self) -> Description:
        """The settings that the tuner was created with, and the changes since."""
        with self._session.up_to_date() as replay:
            return replay.description

    def history(self) -> list[Round]:
        """Return all rounds, in the order in which they were asked for."""
        with self._session.up_to_date() as replay:
            return list(replay.rounds.by_id.values())

    def recommend(self, context: Mapping[str, Any] | None = None) -> Recommendation:
        """Return the values to use if nothing more were to be learned."""
        with self._session.up_to_date() as replay:
            return replay.decider.recommend(checked_context(replay.description.context, context))

    def status(self) -> Status:
        """Return where the tuner stands: limits, reward against the baseline, and the recommended values."""
        with self._session.up_to_date() as replay:
            return status_of(self.name, replay.rounds, replay.decider)

    def frame(self) -> Any:
        """Return the history as a pandas data frame: one row per round, with its values, context and metrics."""
        return frame(self.history())

    def plot(self, path: str | PathLike[str]) -> None:
        """Draw limits, reward, prices, and the effect of each parameter, into a .png, .pdf or .svg file."""
        checked = figure_path(real_path(validation.path("path", path)), "tuner.png")
        with self._session.up_to_date() as replay:
            figure = draw_tuner(self.name, replay.rounds, replay.decider)
        with replacing(checked) as file:
            figure.savefig(file, format=checked.suffix[1:])

    # -- Changes. --

    def pause(self) -> None:
        """Suggest the baseline, or the best known values without one, until `resume`."""
        self._session.set_paused(True)

    def resume(self) -> None:
        """Tune again after `pause`."""
        self._session.set_paused(False)

    def change(self, **changes: Any) -> None:
        """Change limits, the space, forgetting or other settings, and keep what was learned."""
        self._session.append(lambda description: [_changed(description, changes)])

    def export(self, path: str | PathLike[str]) -> None:
        """Write the whole log as JSON lines, for `Tuner.restore`."""
        write_log(validation.path("path", path), self.name, self._session.events())

    # -- Inside. --

    def _check_same(self, description: Description) -> None:
        differences = self.description.differences(description)
        if differences:
            raise ArgumentError(
                f"tuner {self.name!r} is in the store already, with other settings: {'; '.join(differences)}. "
                "Pass the same; or open it, in Python with Tuner.open(name, store), and `change` what is to differ."
            )

    def _id_of(self, suggestion: Any) -> int:
        if not isinstance(suggestion, Suggestion):
            return validation.whole("suggestion", suggestion, least=1, most=2**53)
        if suggestion.tuner != self.name:
            got = f"one of {suggestion.tuner!r}"
            raise DecisionError.of("suggestion", f"one of {self.name!r}", got, "Tell the tuner that was asked.")
        return suggestion.id


def tuners(store: Any = DEFAULT_STORE) -> list[str]:
    """Return the names of the tuners in a store."""
    return _opened(store, new=False).names()


def _changed(description: Description, changes: Mapping[str, Any]) -> Draft:
    return Draft("changed", {"description": description.changed(**changes).to_json()})


def _opened(store: Any, new: bool) -> "Store":
    from softbandit.tuner.storage.store import Store  # SQLAlchemy takes 0.3 s to import

    return Store(store, new)


def _checked_name(name: Any) -> str:
    given = validation.text("name", name)
    if not given.isprintable() or not 0 < len(given) <= LONGEST_NAME:
        raise ArgumentError.of("name", f"1 to {LONGEST_NAME} printable characters", name, "Choose another name.")
    return given
