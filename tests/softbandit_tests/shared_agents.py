"""An agent that several threads share, or that is told for very long: what may be lost, told twice, or kept too long.

Its arms are independent, so its posterior at an arm follows from the count and the sum of what was observed there.
"""

import gc
import threading
import tracemalloc
from itertools import chain

import numpy as np

import softbandit as sb

LAMBDA = 0.5


def run_in_threads(*tasks):
    """Run the tasks at the same time, each with its number, and return what they returned."""
    results, errors, start = [None] * len(tasks), [], threading.Barrier(len(tasks))

    def run(i, task):
        start.wait()
        try:
            results[i] = task(i)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(tasks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def agent_of_independent_arms(arms=5, **settings):
    common = {"reward_bound": 5, "cost_bound": 5, "noise": 1, "horizon": 10**7, "slater": 0.5, "regularisation": LAMBDA}
    return sb.Agent(sb.CKB(np.arange(float(arms))[:, None], sb.Tabular(np.eye(arms)), **common, **settings))


def assert_posterior_is_that_of_the_record(agent):
    record = agent.record
    n = len(agent.policy.arms)
    count = np.bincount(record.arms, minlength=n)
    for row, y in enumerate((record.rewards, record.costs[:, 0])):
        total = np.bincount(record.arms, weights=y, minlength=n)
        np.testing.assert_allclose(agent.posterior.mean()[row], total / (count + LAMBDA), atol=1e-10)
        np.testing.assert_allclose(agent.posterior.std()[row] ** 2, LAMBDA / (count + LAMBDA), atol=1e-10)
    assert agent.round == agent._state.round == len(record)


def tell_in_threads(agent, threads, each, progress=lambda done: None):
    """Let threads tell an agent `each` rounds, and return (arm, reward, cost) of all that were accepted."""

    def play(i):
        told = []
        for k in range(each):
            decision, reward, cost = agent.ask(), i + k % 64 / 64, -i / 64
            agent.tell(decision, reward, cost)
            told.append((decision.arm, reward, cost))
            progress(agent.round)
        return told

    return list(chain(*run_in_threads(*[play] * threads)))


def acceptances(agent, threads):
    """Let threads tell an agent one and the same decision, and return how many succeeded."""
    decision = agent.ask()

    def accepted(i):
        try:
            agent.tell(decision, 0.0, 0.0)
        except sb.DecisionError:
            return 0
        return 1

    return sum(run_in_threads(*[accepted] * threads))


def memory_growth(tells, first=200, progress=lambda done: None):
    """Return the bytes that so many tells add beyond their rows in the record, after the first ones."""
    agent = agent_of_independent_arms()

    def memory_after(tells):
        for _ in range(tells):
            agent.tell(agent.ask(), 0.0, 0.0)
            progress(agent.round)
        gc.collect()  # empties the interpreter's lists of free objects
        return tracemalloc.get_traced_memory()[0] - agent.record._table.buffer.nbytes

    tracemalloc.start()
    try:
        return -memory_after(first) + memory_after(tells)
    finally:
        tracemalloc.stop()
