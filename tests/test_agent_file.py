import json
import os
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from softbandit_tests import examples_of

import softbandit as sb
from softbandit import agent_file
from softbandit.agent_file import leaves


def step(agent, rng):
    decision = agent.ask()
    reward, *cost = rng.standard_normal(1 + agent.policy.constraints)
    agent.tell(decision, reward, cost)
    return decision


def assert_same_future(ours, theirs, rounds=12):
    """Decisions and states agree to the bit from here on."""
    for seed in range(rounds):
        a, b = step(ours, np.random.default_rng(seed)), step(theirs, np.random.default_rng(seed))
        assert (a.arm, a.round, a.reward_estimate) == (b.arm, b.round, b.reward_estimate)
        np.testing.assert_array_equal(a.cost_estimate, b.cost_estimate)
        for x, y in zip(leaves(ours._state), leaves(theirs._state), strict=True):
            np.testing.assert_array_equal(x, y)


@given(st.sampled_from(list(examples_of.POLICIES)), st.integers(0, 40))
@settings(max_examples=80)
def test_saving_at_any_round_loses_nothing(tmp_path_factory, name, rounds):
    path = tmp_path_factory.mktemp("agent") / "run.npz"
    agent, rng = sb.Agent(examples_of.POLICIES[name], seed=rounds), np.random.default_rng(rounds)
    for _ in range(rounds):
        step(agent, rng)
    agent.save(path)
    assert_same_future(agent, sb.Agent.load(path))


@pytest.mark.parametrize(("kernel", "X"), examples_of.KERNELS.values(), ids=examples_of.KERNELS)
@pytest.mark.parametrize("exploration", examples_of.EXPLORATIONS.values(), ids=examples_of.EXPLORATIONS)
def test_every_kernel_and_exploration_is_stored(tmp_path, kernel, X, exploration):
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
    for each in (agent, loaded):
        each.tell(decision, 1.0, 0.5)
    assert_same_future(agent, loaded)


class Coin:
    def draws(self, rank):
        return sb.DrawCount(uniform=1)

    def estimate(self, belief, width, draws):
        return belief.mean + width * (draws.uniform < 0.5) * belief.std


@pytest.mark.parametrize("own", [{"explore": Coin()}, {"width": lambda t: t**0.25}], ids=["exploration", "width"])
def test_a_policy_with_code_of_the_users_is_given_again(tmp_path, own):
    policy = examples_of.policy(**own)
    agent, path = sb.Agent(policy), tmp_path / "run.npz"
    step(agent, np.random.default_rng(0))
    agent.save(path)
    with pytest.raises(sb.FileError, match="code of yours.*Pass policy="):
        sb.Agent.load(path)
    assert_same_future(agent, sb.Agent.load(path, policy=policy))
    with pytest.raises(sb.FileError, match="does not fit the policy given"):
        sb.Agent.load(path, policy=examples_of.policy(examples_of.problem(arms=31), **own))


def test_a_policy_given_for_another_is_refused(saved):
    agent, path = saved
    assert_same_future(agent, sb.Agent.load(path, policy=agent.policy))
    with pytest.raises(sb.FileError, match="saved with other settings"):
        sb.Agent.load(path, policy=agent.policy.replace(width_scale=0.5))


def test_one_table_for_reward_and_cost_is_one_posterior_again(tmp_path):
    table = sb.Tabular(np.eye(3))
    settings = {"reward_bound": 1, "cost_bound": 1, "noise": 0.1, "horizon": 99, "slater": 0.5}
    agent = sb.Agent(sb.CKB(np.arange(3.0)[:, None], table, cost_kernel=table, **settings))
    step(agent, np.random.default_rng(0))
    agent.save(tmp_path / "run.npz")
    assert_same_future(agent, sb.Agent.load(tmp_path / "run.npz"))


def test_another_machine_finds_the_basis_again(tmp_path, monkeypatch):
    """On a grid many pivots are ties that rounding decides: another machine would choose others."""
    grid = np.array([[i, j] for i in range(9) for j in range(9)]) / 8.0
    settings = {"reward_bound": 2, "cost_bound": 2, "noise": 0.1, "horizon": 60, "slater": 0.5, "explore": "ts"}
    policy = sb.CKB(grid, sb.SquaredExponential(0.5), **settings)
    agent, path = sb.Agent(policy), tmp_path / "run.npz"
    for seed in range(30):
        step(agent, np.random.default_rng(seed))
    agent.save(path)
    exact, rng = sb.SquaredExponential.__call__, np.random.default_rng(0)

    def rounded_otherwise(self, X, Y):
        return exact(self, X, Y) * (1 + rng.normal(0, 2e-16, (len(X), len(Y))))

    monkeypatch.setattr(sb.SquaredExponential, "__call__", rounded_otherwise)
    other = sb.CKB(grid, sb.SquaredExponential(0.5), **settings)
    assert other.model.factors[0].pivots.tolist() != policy.model.factors[0].pivots.tolist()
    loaded = sb.Agent.load(path)
    np.testing.assert_allclose(loaded.posterior.covariance(), agent.posterior.covariance(), atol=1e-11)
    for seed in range(10):
        assert step(loaded, np.random.default_rng(seed)).arm == step(agent, np.random.default_rng(seed)).arm


def test_a_link_keeps_leading_to_the_file_and_permissions_are_the_usual(saved):
    agent, path = saved
    link = path.with_name("link.npz")
    link.symlink_to(path)
    agent.save(link)
    assert link.is_symlink()
    plain = path.with_name("plain")
    plain.write_text("")
    assert path.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("change", [{"round": "x"}, {"round": -1}, {"seed": None}, {"identity": 0.5}, {"policy": {}}])
def test_a_changed_header_is_refused(saved, change):
    path = saved[1]
    with np.load(path) as archive:
        content = dict(archive)
    header = {**json.loads(str(content.pop("header"))), **change}
    np.savez(path, header=np.array(json.dumps(header)), **content)
    with pytest.raises(sb.FileError, match="damaged or foreign"):
        sb.Agent.load(path)


def test_a_state_that_is_not_finite_is_refused(saved):
    path = saved[1]
    with np.load(path) as archive:
        content = dict(archive)
    content["state1"] = content["state1"] * np.nan
    np.savez(path, **content)
    with pytest.raises(sb.FileError, match="NaN in the state"):
        sb.Agent.load(path)


@pytest.fixture
def saved(tmp_path):
    problem = examples_of.problem(arms=5)
    agent, path = sb.Agent(examples_of.policy(problem)), tmp_path / "run.npz"
    for seed in range(3):
        step(agent, np.random.default_rng(seed))
    agent.save(path)
    return agent, path


def test_the_file_holds_no_pickle(saved):
    with np.load(saved[1], allow_pickle=False) as archive:
        assert all(archive[name].dtype != object for name in archive.files)


def test_every_cut_is_noticed(saved):
    _, path = saved
    whole = path.read_bytes()
    for size in range(0, len(whole), 29):
        path.write_bytes(whole[:size])
        with pytest.raises(sb.FileError, match="damaged or foreign"):
            sb.Agent.load(path)


def test_every_flipped_byte_is_noticed_or_harmless(saved):
    agent, path = saved
    whole, content = path.read_bytes(), content_of(path)
    for i in range(0, len(whole), 5):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 0xFF]) + whole[i + 1 :])
        try:
            loaded = sb.Agent.load(path)
        except sb.FileError:
            continue
        assert i not in content  # but a date in the archive's directory, say
        for x, y in zip(leaves(agent._state), leaves(loaded._state), strict=True):
            np.testing.assert_array_equal(x, y)
        assert loaded._told == agent._told


def content_of(path):
    """The positions of an archive that hold its members' content."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        ends = [member.header_offset for member in members[1:]] + [archive.start_dir]
    return {i for end, member in zip(ends, members, strict=True) for i in range(end - member.compress_size, end)}


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 nearly"])
def test_foreign_files_are_refused(tmp_path, content):
    path = tmp_path / "foreign.npz"
    path.write_bytes(content)
    with pytest.raises(sb.FileError, match=r"foreign.npz: expected a whole file written by Agent.save"):
        sb.Agent.load(path)


def test_foreign_archives_are_refused(tmp_path):
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


def test_only_classes_on_the_list_are_made():
    with pytest.raises(KeyError):
        agent_file.decode({"class": "Popen", "settings": {"args": "true"}}, {})


def test_a_missing_file_or_folder_is_named(tmp_path, saved):
    with pytest.raises(sb.FileError, match=r"nothing.npz.*no such file"):
        sb.Agent.load(tmp_path / "nothing.npz")
    with pytest.raises(sb.FileError, match=r"could not be written"):
        saved[0].save(tmp_path / "no" / "folder" / "run.npz")


def test_a_full_disk_leaves_the_earlier_file(saved, monkeypatch):
    agent, path = saved
    before = path.read_bytes()
    step(agent, np.random.default_rng(9))

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(sb.FileError, match="No space left.*unchanged"):
        agent.save(path)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_an_interrupt_leaves_the_earlier_file_and_nothing_else(saved, monkeypatch):
    agent, path = saved
    before = path.read_bytes()

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        agent.save(path)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]
