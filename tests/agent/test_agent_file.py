import json
import os
import subprocess
import sys
import zipfile
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from softbandit_tests import damaged_files, examples_of
from softbandit_tests.damaged_files import content_of, file_of, with_header

import softbandit as sb
from softbandit.agent import agent_file
from softbandit.agent.agent_file import leaves


def step(agent, rng):
    decision = agent.ask()
    reward, *cost = rng.standard_normal(1 + agent.policy.constraints)
    agent.tell(decision, reward, cost)
    return decision


def assert_same_future(agent, loaded, rounds=12):
    """Check that the next decisions and states agree to the bit."""
    for seed in range(rounds):
        a, b = (step(twin, np.random.default_rng(seed)) for twin in (agent, loaded))
        assert (a.arm, a.round, a.reward_estimate) == (b.arm, b.round, b.reward_estimate)
        np.testing.assert_array_equal(a.cost_estimate, b.cost_estimate)
        for x, y in zip(leaves(agent._state), leaves(loaded._state), strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.slow
@given(st.sampled_from(list(examples_of.POLICIES)), st.integers(0, 40))
@settings(max_examples=80)
def test_an_agent_saved_at_any_round_continues_to_the_bit_after_loading(tmp_path_factory, name, rounds):
    path = tmp_path_factory.mktemp("agent") / "run.npz"
    agent, rng = sb.Agent(examples_of.POLICIES[name], seed=rounds), np.random.default_rng(rounds)
    for _ in range(rounds):
        step(agent, rng)
    agent.save(path)
    assert_same_future(agent, sb.Agent.load(path))


@pytest.mark.parametrize(("kernel", "X"), examples_of.KERNELS.values(), ids=examples_of.KERNELS)
@pytest.mark.parametrize("exploration", examples_of.EXPLORATIONS.values(), ids=examples_of.EXPLORATIONS)
def test_an_agent_with_any_kernel_and_exploration_can_be_saved(tmp_path, kernel, X, exploration):
    policy = sb.CKB(X, kernel, explore=exploration, reward_bound=1, cost_bound=1, noise=0.1, horizon=50, slater=0.5)
    agent = sb.Agent(policy)
    step(agent, np.random.default_rng(0))
    agent.save(tmp_path / "run.npz")
    assert_same_future(agent, sb.Agent.load(tmp_path / "run.npz"), rounds=3)


def test_a_decision_made_before_saving_can_be_told_after_loading(tmp_path):
    agent = sb.Agent(examples_of.POLICIES["CKB"])
    decision = agent.ask()
    agent.save(tmp_path / "run.npz")
    loaded = sb.Agent.load(tmp_path / "run.npz")
    for twin in (agent, loaded):
        twin.tell(decision, 1.0, 0.5)
    assert_same_future(agent, loaded)


VERSION_2, VERSION_3 = (Path(__file__).parent / "files" / f"version_{i}" for i in (2, 3))
"""Agents saved by an earlier softbandit after 12 rounds of `feedback`, and the next 6 decisions it took."""

EXPECTED = json.loads((VERSION_2 / "expected.json").read_text())
EXPECTED_3 = json.loads((VERSION_3 / "expected.json").read_text())


def feedback(x, t, constraints):
    reward = float(np.sin(3 * np.sum(x)) + 0.1 * np.cos(7.0 * t))
    return reward, [0.3 * reward - 0.2 + 0.05 * np.sin(5.0 * t + i) for i in range(constraints)]


@pytest.mark.parametrize("name", EXPECTED)
def test_an_agent_saved_in_version_2_continues_as_the_softbandit_that_saved_it(name):
    assert_decisions(sb.Agent.load(VERSION_2 / f"{name}.npz"), EXPECTED[name])


@pytest.mark.parametrize("name", EXPECTED_3)
def test_an_agent_saved_in_version_3_continues_as_the_softbandit_that_saved_it(name, tmp_path):
    agent = sb.Agent.load(VERSION_3 / f"{name}.npz")
    agent.save(tmp_path / "run.npz")  # in today's version
    for twin in (agent, sb.Agent.load(tmp_path / "run.npz")):
        assert_decisions(twin, EXPECTED_3[name])
        assert len(twin.record) == twin.round


@pytest.mark.parametrize("name", ["autopilot", "autopilot-space"])
def test_an_autopilot_saved_in_version_3_goes_on_from_its_rounds_by_todays_rule(name, tmp_path):
    agent = sb.Agent.load(VERSION_3 / f"{name}.npz")
    record = agent.record
    assert agent.round == len(record) == 12
    told = np.array([np.hstack(feedback(x, t, agent.policy.constraints)) for t, x in enumerate(record.points)])
    np.testing.assert_allclose(np.column_stack([record.rewards, record.costs]), told)
    agent.save(tmp_path / "run.npz")
    assert_same_future(agent, sb.Agent.load(tmp_path / "run.npz"))


def assert_decisions(agent, all_expected, tolerance=1e-6):
    for t, expected in enumerate(all_expected, start=12):
        decision = agent.ask()
        agent.tell(decision, *feedback(decision.x, t, agent.policy.constraints))
        assert decision.arm == expected["arm"]
        np.testing.assert_allclose(decision.x, expected["x"], atol=tolerance)
        np.testing.assert_allclose(np.atleast_1d(decision.dual), expected["dual"], atol=tolerance)
        assert decision.reward_estimate == pytest.approx(expected["reward_estimate"], abs=tolerance)


def test_an_agent_of_pobos_earlier_rule_is_refused_with_the_reason():
    """It had a queue and a penalty on every constraint; now each constraint has one of them, so its state is no use."""
    with pytest.raises(sb.FileError, match=r"pobo.npz.*POBO without hard and soft constraints. Start a new agent"):
        sb.Agent.load(VERSION_2 / "pobo.npz")


def test_an_agent_of_practical_is_refused_with_the_reason_and_what_to_use():
    with pytest.raises(sb.FileError, match=r"practical.npz.*Practical, whose rule was removed. .* sb.Autopilot\("):
        sb.Agent.load(VERSION_2 / "practical.npz")


def test_every_agent_file_of_version_2_has_expected_decisions():
    assert {path.stem for path in VERSION_2.glob("*.npz")} == {*EXPECTED, "pobo", "practical"}


@pytest.mark.parametrize("name", EXPECTED)
def test_an_agent_saved_in_version_2_has_no_certificate_but_recommends(name, tmp_path):
    agent = sb.Agent.load(VERSION_2 / f"{name}.npz")
    step(agent, np.random.default_rng(0))
    agent.save(tmp_path / "run.npz")  # in the present version, still without the first 12 rounds
    for twin in (agent, sb.Agent.load(tmp_path / "run.npz")):
        with pytest.raises(sb.ArgumentError, match="a record of every round, got none of the first 12"):
            twin.certificate()
        assert 0 <= twin.recommend().feasible <= 1


def test_a_loaded_agent_has_the_record_and_the_certificate_of_the_saved_one(saved):
    agent, path = saved
    loaded = sb.Agent.load(path)
    np.testing.assert_array_equal(loaded.record.rows, agent.record.rows)
    assert loaded.certificate().to_json() == agent.certificate().to_json()


def refused(path, match, **changes):
    """Check that a file with other arrays, and the right checksum, is refused for that reason."""
    content = content_of(path.read_bytes())
    path.write_bytes(file_of(content | {name: change(content[name]) for name, change in changes.items()}))
    with pytest.raises(sb.FileError, match=rf"damaged or foreign \(.*{match}"):
        sb.Agent.load(path)


@pytest.mark.parametrize("rows", [np.zeros((4, 7)), np.zeros((3, 8)), np.full((3, 7), np.nan)])
def test_loading_a_record_that_does_not_fit_is_refused(saved, rows):
    refused(saved[1], "a record of", record=lambda record: rows)


@pytest.mark.parametrize("arm", [-1.0, 5.0, 0.5, 1e300])
def test_loading_a_record_of_an_arm_that_there_is_not_is_refused(saved, arm):
    refused(saved[1], "an arm or a point that there is not", record=lambda record: np.full_like(record, arm))


@pytest.mark.parametrize("name", ["record", "state2"])
def test_loading_a_point_outside_the_box_is_refused(tmp_path, name):
    path = tmp_path / "run.npz"
    path.write_bytes((VERSION_3 / "box.npz").read_bytes())
    refused(path, "an arm or a point that there is not", **{name: lambda table: table + 3.0})


IMPOSSIBLE = {
    "state0": (lambda rounds: rounds + 1, "a state of round 4 in round 3"),
    "state1": (lambda dual: dual - 1, "a negative dual"),
    "state2": (lambda root: root * np.inf, "NaN|infinite numbers"),
    "state4": (lambda var: var - 2, r"var outside \[0"),
    "state5": (lambda gain: -gain, r"gain outside \[0"),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_loading_an_impossible_state_is_refused(saved, name):
    change, match = IMPOSSIBLE[name]
    with np.errstate(invalid="ignore"):
        refused(saved[1], match, **{name: change})


def test_a_dual_that_may_be_negative_is_loaded(tmp_path):
    agent = sb.Agent(examples_of.POLICIES["SafeBOCP"])
    for _ in range(60):
        agent.tell(agent.ask(), 0.0, -1.0)
    assert agent.dual < 0
    agent.save(tmp_path / "run.npz")
    assert sb.Agent.load(tmp_path / "run.npz").dual == agent.dual


class Coin:
    def draws(self, rank):
        return sb.DrawCount(uniform=1)

    def estimate(self, belief, width, draws):
        return belief.mean + width * (draws.uniform < 0.5) * belief.std


@pytest.mark.parametrize("user_code", [{"explore": Coin()}, {"width": lambda t: t**0.25}], ids=["exploration", "width"])
def test_an_agent_with_user_code_is_loaded_by_passing_its_policy(tmp_path, user_code):
    policy = examples_of.policy(**user_code)
    agent, path = sb.Agent(policy), tmp_path / "run.npz"
    step(agent, np.random.default_rng(0))
    agent.save(path)
    with pytest.raises(sb.FileError, match="code of yours.*Pass policy="):
        sb.Agent.load(path)
    assert_same_future(agent, sb.Agent.load(path, policy=policy))
    with pytest.raises(sb.FileError, match="does not fit the policy given"):
        sb.Agent.load(path, policy=examples_of.policy(examples_of.problem(arms=31), **user_code))


def test_loading_with_a_policy_of_other_settings_is_refused(saved):
    agent, path = saved
    assert_same_future(agent, sb.Agent.load(path, policy=agent.policy))
    with pytest.raises(sb.FileError, match="saved with other settings"):
        sb.Agent.load(path, policy=agent.policy.replace(width_scale=0.5))


def test_a_kernel_shared_by_reward_and_cost_is_still_shared_after_loading(tmp_path):
    table = sb.Tabular(np.eye(3))
    settings = {"reward_bound": 1, "cost_bound": 1, "noise": 1, "horizon": 99, "slater": 0.5}
    agent = sb.Agent(sb.CKB(np.arange(3.0)[:, None], table, cost_kernel=table, **settings))
    step(agent, np.random.default_rng(0))
    agent.save(tmp_path / "run.npz")
    assert_same_future(agent, sb.Agent.load(tmp_path / "run.npz"))


def test_loading_keeps_the_saved_pivots_where_rounding_would_choose_others(tmp_path, monkeypatch):
    """On a grid many pivots are ties that rounding decides: another machine would choose others."""
    grid = np.array([[i, j] for i in range(9) for j in range(9)]) / 8.0
    settings = {"reward_bound": 2, "cost_bound": 2, "noise": 1, "horizon": 60, "slater": 0.5, "explore": "ts"}
    policy = sb.CKB(grid, sb.SquaredExponential(0.5), **settings)
    agent, path = sb.Agent(policy), tmp_path / "run.npz"
    for seed in range(30):
        step(agent, np.random.default_rng(seed))
    agent.save(path)
    exact, rng = sb.SquaredExponential.__call__, np.random.default_rng(0)

    def rounded_differently(self, X, Y):
        return exact(self, X, Y) * (1 + rng.normal(0, 2e-16, (len(X), len(Y))))

    monkeypatch.setattr(sb.SquaredExponential, "__call__", rounded_differently)
    other = sb.CKB(grid, sb.SquaredExponential(0.5), **settings)
    assert other.model.factors[0].pivots.tolist() != policy.model.factors[0].pivots.tolist()
    loaded = sb.Agent.load(path)
    np.testing.assert_allclose(loaded.posterior.covariance(), agent.posterior.covariance(), atol=1e-11)
    for seed in range(10):
        assert step(loaded, np.random.default_rng(seed)).arm == step(agent, np.random.default_rng(seed)).arm


def high_rank_policy(**settings):
    """A policy with a kernel of full rank on 300 arms."""
    arms = np.random.default_rng(0).random((300, 3))
    numbers = {"reward_bound": 2, "cost_bound": 2, "noise": 1, "horizon": 200, "slater": 0.5}
    return sb.CKB(arms, sb.Matern(0.5), **numbers, **settings)


def test_an_agent_in_data_space_continues_to_the_bit_after_loading(tmp_path):
    agent, path = sb.Agent(high_rank_policy()), tmp_path / "run.npz"
    for seed in range(60):
        step(agent, np.random.default_rng(seed))
    agent.save(path)
    assert np.load(path)["pivots0"].tolist() == [-1]
    assert_same_future(agent, sb.Agent.load(path))


@pytest.mark.parametrize("rounds", [0, 20, 160])
def test_an_agent_that_samples_functions_of_high_rank_continues_to_the_bit_after_loading(tmp_path, rounds):
    """Its root is in terms for 149 rounds, and then a matrix."""
    agent, path = sb.Agent(high_rank_policy(explore="ts")), tmp_path / "run.npz"
    for seed in range(rounds):
        step(agent, np.random.default_rng(seed))
    agent.save(path)
    assert any(x.shape == (rounds, 2, 1, 300) for x in np.load(path).values()) == (rounds < 150)
    assert_same_future(agent, sb.Agent.load(path))


def test_a_file_with_impossible_terms_of_a_root_is_refused(tmp_path):
    agent, path = sb.Agent(high_rank_policy(explore="ts")), tmp_path / "run.npz"
    step(agent, np.random.default_rng(0))
    agent.save(path)
    content = content_of(path.read_bytes())
    (name,) = [key for key, x in content.items() if x.shape == (1, 2, 1, 300)]
    content[name][0, 1, 0, 7] = 1e40
    path.write_bytes(file_of(content))
    with pytest.raises(sb.FileError, match="root outside"):
        sb.Agent.load(path)


@pytest.mark.parametrize("policy", [None, high_rank_policy()], ids=["the file's policy", "a given policy"])
def test_an_agent_saved_in_weight_space_continues_there_whatever_its_kernel_would_get_today(tmp_path, policy):
    factors = [sb.theory.features(sb.Matern(0.5), high_rank_policy().arms)]
    agent, path = sb.Agent(high_rank_policy(factors=factors)), tmp_path / "run.npz"
    for seed in range(10):
        step(agent, np.random.default_rng(seed))
    agent.save(path)
    assert_same_future(agent, sb.Agent.load(path, policy=policy))


def test_a_file_whose_rows_over_the_arms_would_take_all_memory_is_refused(tmp_path):
    agent, path = sb.Agent(high_rank_policy()), tmp_path / "run.npz"
    agent.save(path)
    content = content_of(path.read_bytes())
    (name,) = [key for key, x in content.items() if key.startswith("state") and x.shape == (0,)][:1]
    content[name] = np.zeros(10**6, dtype=np.int64)  # 300 numbers each
    path.write_bytes(file_of(content))
    with pytest.raises(sb.FileError, match="memory"):
        sb.Agent.load(path, memory=10**9)


def test_saving_keeps_a_symbolic_link_and_the_usual_permissions(saved):
    agent, path = saved
    link = path.with_name("link.npz")
    link.symlink_to(path)
    agent.save(link)
    assert link.is_symlink()
    plain = path.with_name("plain")
    plain.write_text("")
    assert path.stat().st_mode == plain.stat().st_mode


CHANGES = [{"round": "x"}, {"round": -1}, {"round": 2**54}, {"seed": None}, {"identity": 0.5}, {"policy": {}}]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_loading_a_file_with_a_changed_header_is_refused(saved, change):
    path = saved[1]
    path.write_bytes(with_header(path.read_bytes(), lambda header: header.update(change)))
    with pytest.raises(sb.FileError, match=r"damaged or foreign \((?!it has no checksum)"):
        sb.Agent.load(path)


def test_loading_a_state_with_nan_is_refused(saved):
    refused(saved[1], "NaN in the state", state1=lambda dual: dual * np.nan)


def test_loading_a_file_without_its_checksum_is_refused(saved):
    path = saved[1]
    np.savez(path, **content_of(path.read_bytes()))
    with pytest.raises(sb.FileError, match="it has no checksum"):
        sb.Agent.load(path)


@pytest.fixture
def saved(tmp_path):
    problem = examples_of.problem(arms=5)
    agent, path = sb.Agent(examples_of.policy(problem)), tmp_path / "run.npz"
    for seed in range(3):
        step(agent, np.random.default_rng(seed))
    agent.save(path)
    return agent, path


def test_a_saved_agent_contains_no_pickle(saved):
    with np.load(saved[1], allow_pickle=False) as archive:
        assert all(archive[name].dtype != object for name in archive.files)


def test_loading_a_truncated_file_is_refused(saved):
    _, path = saved
    whole = path.read_bytes()
    for size in range(0, len(whole), 29):
        path.write_bytes(whole[:size])
        with pytest.raises(sb.FileError, match="damaged or foreign"):
            sb.Agent.load(path)


def test_loading_a_file_with_any_changed_byte_is_refused(saved):
    _, path = saved
    whole = path.read_bytes()
    for i in [*range(0, len(whole), 19), *range(len(whole) - 90, len(whole))]:
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :])
        with pytest.raises(sb.FileError, match="damaged or foreign"):
            sb.Agent.load(path)


def test_loading_damaged_and_crafted_files_raises_nothing_but_file_error():
    loads = list(chain(*damaged_files.run(count=180).values()))
    assert len(loads) >= 190
    assert [load.fault for load in loads if load.fault] == []
    assert max(load.bytes for load in loads) < damaged_files.MEMORY
    assert max(load.seconds for load in loads) < 5


def test_memory_can_be_limited_and_the_limit_raised(saved):
    agent, path = saved
    for memory in (10_000, 50_000):  # less than the file and less than its header may take
        with pytest.raises(sb.FileError, match="If you trust the file, pass memory="):
            sb.Agent.load(path, memory=memory)
    assert_same_future(agent, sb.Agent.load(path, memory=10**6))
    with pytest.raises(sb.ArgumentError, match="memory"):
        sb.Agent.load(path, memory=-1)


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 nearly"])
def test_loading_a_file_that_is_not_an_archive_is_refused(tmp_path, content):
    path = tmp_path / "foreign.npz"
    path.write_bytes(content)
    with pytest.raises(sb.FileError, match=r"foreign.npz: expected a whole file written by Agent.save"):
        sb.Agent.load(path)


def test_loading_an_archive_that_is_not_an_agent_is_refused(tmp_path):
    path = tmp_path / "foreign.npz"
    np.savez(path, a=np.zeros(3))
    with pytest.raises(sb.FileError, match="damaged or foreign"):
        sb.Agent.load(path)
    np.savez(path, header=np.array(json.dumps({"format": "another"})))
    with pytest.raises(sb.FileError, match="its format is 'another'"):
        sb.Agent.load(path)
    np.savez(path, header=np.array(json.dumps({"format": agent_file.FORMAT, "version": 99})))
    with pytest.raises(sb.FileError, match=f"version {agent_file.VERSION}, got version 99"):
        sb.Agent.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", b"\x93NUMPY damaged")
    with pytest.raises(sb.FileError, match="damaged or foreign"):
        sb.Agent.load(path)
    np.save(tmp_path / "pickled.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(sb.FileError, match="damaged or foreign"):
        sb.Agent.load(tmp_path / "pickled.npy")


def test_decoding_builds_listed_classes_only():
    with pytest.raises(KeyError):
        agent_file.decode({"class": "Popen", "settings": {"args": "true"}}, {})


def test_errors_name_a_missing_file_or_folder(tmp_path, saved):
    with pytest.raises(sb.FileError, match=r"nothing.npz.*no such file"):
        sb.Agent.load(tmp_path / "nothing.npz")
    with pytest.raises(sb.FileError, match=r"could not be written"):
        saved[0].save(tmp_path / "no" / "folder" / "run.npz")


def test_a_full_disk_leaves_the_earlier_file_unchanged(saved, monkeypatch):
    agent, path = saved
    before = path.read_bytes()
    step(agent, np.random.default_rng(9))

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(sb.FileError, match="No space left.*unchanged"):
        agent.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_an_interrupt_while_saving_leaves_the_earlier_file_and_nothing_else(saved, monkeypatch):
    agent, path = saved
    before = path.read_bytes()

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        agent.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


# -- One process at a time. --


def test_a_save_over_a_file_that_another_process_has_written_since_is_refused(saved):
    agent, path = saved
    first, second = sb.Agent.load(path), sb.Agent.load(path)
    step(first, np.random.default_rng(0))
    first.save(path)
    before = path.read_bytes()
    for late in (second, agent):
        with pytest.raises(sb.FileError, match=r"written since.*Load that one.*one process at a time"):
            late.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    first.save(path)  # its own file is no other's
    second.save(path.with_name("other.npz"))


def test_a_save_over_a_file_of_version_3_that_was_written_since_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    path.write_bytes((VERSION_3 / "ckb.npz").read_bytes())
    first, second = sb.Agent.load(path), sb.Agent.load(path)
    first.save(path)
    with pytest.raises(sb.FileError, match="written since"):
        second.save(path)


def test_a_new_agent_replaces_the_file_of_an_old_one_which_then_notices(saved):
    agent, path = saved
    new = sb.Agent(agent.policy)
    new.save(path)  # it never loaded that file, and its user has named it
    with pytest.raises(sb.FileError, match="written since"):
        agent.save(path)
    path.unlink()
    agent.save(path)  # there is nothing to lose
    assert sb.Agent.load(path).round == 3


def test_a_copy_with_other_limits_and_the_agent_it_comes_from_do_not_overwrite_each_other(tmp_path):
    agent, path = sb.Agent(examples_of.POLICIES["Autopilot"]), tmp_path / "run.npz"
    agent.save(path)
    copy = agent.with_limits_raised(1.0)
    step(copy, np.random.default_rng(0))
    copy.save(path)
    with pytest.raises(sb.FileError, match="written since"):
        agent.save(path)


STRESS = [sys.executable, "-c", "from softbandit_tests import stressed_saves as s; print(*s.kills(25), *s.races(3, 8))"]


@pytest.mark.skipif(sys.platform == "win32", reason="fork and SIGKILL")
def test_saves_that_are_killed_or_race_lose_nothing():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(STRESS, check=True, capture_output=True, text=True, env=environment, timeout=60)
    saves, lost, damaged, _, left, saved, held = result.stdout.split()
    assert int(saves) >= 25
    assert (lost, damaged, left) == ("0", "0", "[]")
    assert saved == held == "24"


@pytest.mark.parametrize("path", [None, 3, b"run.npz", "a\0b", "/", ["run.npz"]], ids=repr)
def test_saving_to_what_is_no_path_is_refused(saved, path):
    with pytest.raises(sb.FileError, match="path: expected the path of a file"):
        saved[0].save(path)
    with pytest.raises(sb.FileError, match="path: expected the path of a file"):
        sb.Agent.load(path)


def test_loading_a_folder_or_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(sb.FileError, match="it is not a file"):
            sb.Agent.load(path)
