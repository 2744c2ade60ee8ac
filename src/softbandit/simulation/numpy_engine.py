"""NumPy's engine: one round after another, as written. Step through it with a debugger."""

import numpy as np

from softbandit.backend import POLICY, PROBLEM, Words, draw
from softbandit.policies import Stage, State, Steps
from softbandit.simulation.rounds import AnyProblem, Chunk, Columns, Options, play_round

MALLOC_HINT = 2**22 - 2**10  # numbers: just below 32 MB, the largest size from which glibc adapts


class NumpyEngine:
    """Plays the rounds of one policy on one problem."""

    def __init__(self, step: Steps, problem: AnyProblem, options: Options) -> None:
        self._step, self._problem, self._options = step, problem, options
        # Freeing one large array makes glibc keep freed memory of that size. Otherwise it returns it to
        # the system, and page faults make a round with many arms up to three times slower.
        np.empty(MALLOC_HINT)

    def start(self, stage: Stage, trials: int, before: State | None) -> State:
        return stage.start(trials, before)

    def play(self, state: State, trials: Words, chunk: Chunk) -> tuple[State, Columns]:
        seed = self._options.seed
        draws = draw(self._step.draws(), seed, trials, chunk.first, chunk.rounds, POLICY)
        noise = draw(self._problem.draws(), seed, trials, chunk.first, chunk.rounds, PROBLEM)
        rounds = []
        for round_draws, round_noise in zip(draws.rounds(), noise.rounds(), strict=True):
            state, round = play_round(self._step, self._problem, state, round_draws, round_noise)
            rounds.append(round.columns(self._options.keep))
        return state, {name: np.stack([columns[name] for columns in rounds], axis=1) for name in rounds[0]}

    def fetch(self, result: Columns) -> Columns:
        return result
