"""Whatever is done to an agent in whatever order, it is the agent of what was told and not forgotten."""

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from softbandit_tests.agent_machine import POLICIES, machine_of


@pytest.mark.parametrize("name", POLICIES)
def test_an_agent_is_that_of_what_was_told_and_not_forgotten_after_any_calls(name):
    run_state_machine_as_test(machine_of(name), settings=settings(max_examples=12, stateful_step_count=30))
