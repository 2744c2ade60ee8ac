"""Whatever is done to an agent in whatever order, it is the agent of what was told and not forgotten."""

from hypothesis import settings
from softbandit_tests.agent_machine import AgentMachine

TestAgentInAnyOrder = AgentMachine.TestCase
TestAgentInAnyOrder.settings = settings(max_examples=30, stateful_step_count=25)
