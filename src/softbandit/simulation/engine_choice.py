"""Which engine runs a simulation."""

import math
import warnings
from functools import cache
from importlib.util import find_spec
from typing import Any

from softbandit import validation
from softbandit.errors import ArgumentError, needs_extra
from softbandit.gp import ArmKernel
from softbandit.policies import StepPolicy, Steps
from softbandit.problems import Problem
from softbandit.simulation.numpy_engine import NumpyEngine
from softbandit.simulation.rounds import COLUMNS, AnyProblem, Engine, Options

COMPILATION = 2.0  # seconds that JAX must save before "auto" chooses it
PER_ROUND, PER_ENTRY = 80e-6, 6e-10  # seconds saved per round, and per round and entry of trials x arms x rank
PER_TRIAL = 150e-6  # seconds saved per round and trial in data space, where NumPy computes one trial after another
FEW_ROUNDS = 512  # in data space: in longer runs JAX reads a row of every round, and NumPy those of different arms


class EngineHint(UserWarning):
    """A simulation would run much faster with JAX, which is not installed."""


def check_options(engine: str, options: Options) -> None:
    """Refuse engines and options that do not exist or do not go together."""
    validation.named("engine", engine, dict.fromkeys(["numpy", "jax", "auto"]))
    validation.named("draws", options.draws, dict.fromkeys(["host", "device"]))
    validation.named("precision", options.precision, dict.fromkeys(["float64", "float32"]))
    for column in options.keep:
        validation.named("keep", column, dict.fromkeys(COLUMNS))
    for name, value, usual in (("draws", options.draws, "host"), ("precision", options.precision, "float64")):
        if engine != "jax" and value != usual:
            raise ArgumentError.of(name, f"{usual!r} with engine={engine!r}", value, "Run it with engine='jax'.")


def choose_engine(engine: str, step: Steps, problem: AnyProblem, trials: int, rounds: int) -> str:
    """Return "numpy" or "jax". "auto" is JAX if it pays and can trace the policy: a user's may use NumPy by name."""
    if engine != "auto":
        return engine
    return "jax" if jax_pays(step, trials, rounds) and _jax_engine().can_trace(step, problem) else "numpy"


def jax_pays(step: Steps, trials: int, rounds: int) -> bool:
    """Return whether JAX is expected to save time over that many rounds in all, and is installed."""
    if not step.batched or seconds_saved(step, trials, rounds) <= COMPILATION:
        return False
    if find_spec("jax") is None:
        _hint_at_jax()
        return False
    return True


def seconds_saved(step: Steps, trials: int, rounds: int) -> float:
    """Estimate what JAX on a CPU saves of NumPy's time, without compilation (`benchmarks/engines.py auto`)."""
    assert isinstance(step, StepPolicy)
    in_data_space = any(isinstance(group.factor, ArmKernel) for group in step.model.groups)
    if in_data_space and rounds <= len(step.arms):  # `benchmarks/high_rank.py --engine`
        return trials * rounds * PER_TRIAL if rounds <= FEW_ROUNDS else 0.0
    return rounds * (PER_ROUND + PER_ENTRY * trials * entries(step))


def entries(step: Steps) -> int:
    """Return the number of entries of the features that a round reads per trial, at most."""
    assert isinstance(step, StepPolicy)
    return max(1, sum(int(math.prod(group.factor.shape)) for group in step.model.groups))


@cache
def _hint_at_jax() -> None:
    """Say once how to get JAX."""
    message = "This would run several times faster with JAX: pip install 'softbandit[jax]'. engine='numpy' is in use."
    warnings.warn(message, EngineHint, stacklevel=5)


def make_engine(engine: str, step: Steps, problem: AnyProblem, rounds: int, options: Options) -> Engine:
    """Return the engine for up to that many rounds of one policy."""
    if engine == "numpy":
        return NumpyEngine(step, problem, options)
    assert isinstance(problem, Problem)
    compiled: Engine = _jax_engine().JaxEngine(step, problem, rounds, options)
    return compiled


def runs_on_host(engine: str) -> bool:
    """Return whether rounds are played by this machine's processor."""
    return engine == "numpy" or bool(_jax_engine().on_one_cpu())


def _jax_engine() -> Any:
    """Import the module of the compiled engine: the one place that does."""
    with needs_extra("jax", "jax"):
        from softbandit.simulation import jax_engine
    jax_engine.check_platform()
    return jax_engine
