"""The settings of a policy: checked, completed by defaults, frozen, replaceable. CKB is the example."""

import inspect
import math

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.policies.base import Choice, Stage, StepPolicy

GOOD = {
    "arms": np.linspace(0, 1, 10)[:, None],
    "kernel": sb.SquaredExponential(0.2),
    "reward_bound": 1.0,
    "cost_bound": 1.0,
    "noise": 0.1,
    "horizon": 100,
    "slater": 0.5,
}
NOT_NUMBERS = [math.nan, math.inf, -math.inf, "1", None, [[1.0]], 1j, True]
BAD = {
    "arms": [
        [],
        np.zeros((0, 2)),
        np.zeros((2, 0)),
        [[math.nan]],
        [[math.inf, 1.0]],
        [1.0, 2.0],
        "arms",
        [[1], [2, 3]],
    ],
    "kernel": [None, "rbf", 0.2, sb.Linear() * 100.0, sb.SquaredExponential, sb.SquaredExponential([0.1, 0.2])],
    "cost_kernel": ["rbf", 3, [sb.Linear(), sb.Linear()], 2.0 * sb.SquaredExponential(0.2), [None]],
    "explore": ["UCB", "thomson", 3, None, sb.UCB],
    "explore_cost": ["randucb", 0, object()],
    "reward_bound": [*NOT_NUMBERS, 0.0, -1.0],
    "cost_bound": [math.nan, math.inf, "1", 0.0, -1.0, [1.0, 2.0], [-1.0], None],
    "noise": [*NOT_NUMBERS, -0.1],
    "cost_noise": [math.nan, "1", -0.1, [1.0, 1.0], [-1.0]],
    "horizon": [10**400, 0, -5, 1.5, "100", None, math.nan, True],
    "slater": [0.0, -0.1, 1.1, math.nan, "0.5", None],
    "confidence": [*NOT_NUMBERS, 0.0, 1.0, -0.1, 1.1],
    "regularisation": [math.nan, "1", 0.0, -1.0, [1.0], [1.0, 0.0]],
    "width": ["theorem", -1.0, math.nan, [1.0], lambda t: -1.0, lambda t: "wide", object()],
    "width_scale": [*NOT_NUMBERS, -1.0],
    "dual": ["queues", None, 3],
    "dual_feedback": ["observed", None, 3],
    "rho": [0.0, -1.0, math.nan, "8"],
    "V": [0.0, -1.0, math.nan, "3", [1.0, 1.0]],
    "slack": [-0.1, 0.26, math.nan, "0.1", None],
    "constraints": [-1, 1.0, "1", None, True],
    "ties": ["last", None, 0],
    "factors": [[], [[0], [1]], 3],
    "budget": [10, 0, 2.5, "all"],  # none is good on finite arms; see test_ckb_on_spaces.py
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in BAD for value in BAD[name]], ids=str)
def test_a_bad_setting_is_refused_with_expected_got_and_remedy(name, value):
    sb.CKB(**GOOD)
    with pytest.raises(sb.ArgumentError, match=r"(?s).+expected .+got .+\. [A-Z].+[.?]"):
        sb.CKB(**{**GOOD, name: value})


def test_bad_values_are_listed_for_every_setting():
    assert set(BAD) == set(inspect.signature(sb.CKB).parameters)


def test_a_misspelt_name_gets_a_suggestion():
    with pytest.raises(sb.UnknownNameError, match="Did you mean 'greedy'"):
        sb.CKB(**GOOD, explore="gredy")
    with pytest.raises(sb.UnknownNameError, match="Did you mean 'queue'"):
        sb.CKB(**GOOD, dual="que")


def test_following_the_remedy_of_an_error_fixes_it():
    arms = np.linspace(0, 3, 10)[:, None]
    with pytest.raises(sb.KernelError, match=r"k\(x, x\) <= 1.*9 at arm 9.*rescaled"):
        sb.CKB(**{**GOOD, "arms": arms, "kernel": sb.Linear()})
    sb.CKB(**{**GOOD, "arms": arms, "kernel": sb.Linear().rescaled(arms)})
    with pytest.raises(sb.ArgumentError, match=r"arms\[:, None\]"):
        sb.CKB(**{**GOOD, "arms": arms[:, 0]})
    with pytest.raises(sb.ArgumentError, match="slater / 2 = 0.25"):
        sb.CKB(**GOOD, slack=0.3)
    sb.CKB(**GOOD, slack=0.25)
    without = {name: value for name, value in GOOD.items() if name != "slater"}
    with pytest.raises(sb.ArgumentError, match="Pass slater, or else rho"):
        sb.CKB(**without)
    sb.CKB(**without, rho=3.0)
    with pytest.raises(sb.ArgumentError, match="0 without slater"):
        sb.CKB(**without, rho=3.0, slack=0.1)


def test_the_settings_of_a_policy_are_read_only():
    policy = sb.CKB(**GOOD)
    with pytest.raises(AttributeError):
        policy.rho = 3.0
    with pytest.raises(ValueError, match="read-only"):
        policy.arms[0] = 3.0


def test_changing_arrays_that_were_passed_in_does_not_change_the_policy():
    arms, bounds = np.linspace(0, 1, 10)[:, None], [1.0]
    policy = sb.CKB(**{**GOOD, "arms": arms, "cost_bound": bounds})
    arms *= 0.5
    bounds[0] = 99.0
    replaced = policy.replace(horizon=50)
    np.testing.assert_array_equal(replaced.arms, np.linspace(0, 1, 10)[:, None])
    np.testing.assert_array_equal(replaced.bounds, [[1.0], [1.0]])


def test_replace_computes_defaults_again():
    policy = examples_of.policy(horizon=100)
    longer = policy.replace(horizon=400)
    assert pytest.approx(2 * policy.V, rel=1e-14) == longer.V
    assert policy.replace(rho=1.0).rho == 1.0
    assert policy.replace(rho=1.0).replace(horizon=400).rho == 1.0


def test_replace_reuses_the_factorised_kernel_unless_the_kernel_changes():
    policy = sb.CKB(**GOOD)
    assert policy.replace(horizon=50).model.factors[0] is policy.model.factors[0]
    other = policy.replace(kernel=sb.Matern(0.3))
    assert (other.model.factors[0].phi != policy.model.factors[0].phi).any()


class FirstArm(StepPolicy):
    """A policy as small as it can be: `about` and `decide`."""

    about = sb.CKB.about

    def decide(self, state, draws, among=None):
        trials = len(state.dual)
        return Choice(np.zeros(trials, dtype=int), np.zeros(trials), np.zeros_like(state.dual))


def test_a_policy_needs_only_about_and_decide():
    policy = FirstArm(**GOOD)
    trace = sb.simulate(policy, examples_of.problem(arms=10), trials=2, rounds=5, engine="numpy")
    assert (trace.arms == 0).all()
    assert (trace.dual == 0).all()  # the default keeps it
    agent = sb.Agent(policy)
    agent.tell(agent.ask(), 1.0, -1.0)
    assert agent.posterior.mean()[0, 0] > 0  # the default learns


def test_a_stage_starts_with_the_previous_dual_only_if_it_keeps_it():
    policy = sb.CKB(**GOOD)
    before = policy.init(2)._replace(round=7, dual=np.array([[3.0], [4.0]]))
    np.testing.assert_array_equal(Stage(policy, 7, 9).start(2, before).dual, [[0.0], [0.0]])
    kept = Stage(policy, 7, 9, keeps_dual=True).start(2, before)
    np.testing.assert_array_equal(kept.dual, [[3.0], [4.0]])
    assert kept.round == 0
