import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import softbandit as sb
from softbandit.backend import POLICY, draw
from softbandit.policies.base import Choice

optuna = pytest.importorskip("optuna")
SoftbanditSampler = pytest.importorskip("softbandit.integrations.optuna").SoftbanditSampler
trials_module = pytest.importorskip("softbandit.integrations.optuna_trials")
pytestmark = pytest.mark.extra

SPACE = {"x": optuna.distributions.FloatDistribution(0, 1), "y": optuna.distributions.IntDistribution(0, 20)}


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.fixture(scope="module")
def database():
    return optuna.storages.RDBStorage("sqlite:///:memory:")


def objective(trial):
    """Return a reward that grows with the cost, whose limit is 12."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_int("y", 0, 20)
    latency = 6 + 8 * x + 0.2 * y
    trial.set_user_attr("latency", latency)
    return 10 * x + 0.3 * y - 0.02 * y * y


def limited(trial):
    value = objective(trial)
    trial.set_constraint("latency", trial.user_attrs["latency"] - 12)
    return value


def study_of(sampler=None, direction="maximize", **options):
    return optuna.create_study(sampler=sampler or SoftbanditSampler(seed=1), direction=direction, **options)


def params(study):
    return [trial.params for trial in study.trials]


def run(trials=12, function=limited, **options):
    study = study_of(**options)
    study.optimize(function, n_trials=trials)
    return study


def test_a_limit_holds_on_average_and_the_value_is_near_that_of_the_best_point_within_it():
    study = run(60)
    late = study.trials[20:]
    x, y = np.meshgrid(np.linspace(0, 1, 101), np.arange(21))
    within = 6 + 8 * x + 0.2 * y <= 12
    best = (10 * x + 0.3 * y - 0.02 * y * y)[within].max()
    assert np.mean([trial.constraints["latency"] for trial in study.trials]) <= 0.05
    assert np.mean([trial.value for trial in late]) >= best - 0.15


def test_suggestions_equal_those_of_autopilot_given_the_same_rounds():
    study = run(9)
    space = sb.Space({"x": sb.Float(0, 1), "y": sb.Integer(0, 20)})
    policy = sb.Autopilot(space, constraints=1)
    state = policy.init(1)
    for i, trial in enumerate(study.trials):
        if i:
            draws = next(draw(policy.draws(), 1, [0], i, 1, POLICY).rounds())
            assert trial.params == space.values(policy.decide(state, draws).arm[0])
        choice = Choice(space.encode(trial.params)[None], np.zeros(1), np.zeros((1, 1)))
        state = policy.update(state, choice, np.array([trial.value]), np.array([[trial.constraints["latency"]]]))


def test_minimising_a_function_is_maximising_its_negative():
    assert params(run(10)) == params(run(10, lambda trial: -limited(trial), direction="minimize"))


@pytest.mark.parametrize(
    "limits", [{"latency": 12}, [SimpleNamespace(metric="latency", cost=lambda value: value - 12)]]
)
def test_a_limit_on_a_metric_is_a_constraint_on_its_difference(limits):
    assert params(run(10)) == params(run(10, objective, sampler=SoftbanditSampler(seed=1, limits=limits)))


def test_a_trial_without_a_metric_that_has_a_limit_is_an_error():
    study = study_of(SoftbanditSampler(limits={"latency": 12}))
    with pytest.raises(sb.FeedbackError, match="set_user_attr"):
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)


@pytest.mark.parametrize("limits", [3, ["latency"], {"latency": "12"}, {3: 12}, {"latency": math.nan}])
def test_limits_that_are_none_are_refused(limits):
    with pytest.raises(sb.ArgumentError):
        SoftbanditSampler(limits=limits)


def test_a_study_resumed_from_a_database_by_a_new_sampler_goes_on_as_if_it_had_not_ended(database):
    for trials in (5, 7):
        run(trials, storage=database, study_name="resumed", load_if_exists=True)
    assert params(optuna.load_study(study_name="resumed", storage=database)) == params(run(12))


def test_workers_that_share_a_database_and_nothing_else_suggest_what_one_would_alone(database):
    study_of(storage=database, study_name="shared")
    workers = [
        optuna.load_study(study_name="shared", storage=database, sampler=SoftbanditSampler(seed=1)) for _ in range(2)
    ]
    for _ in range(5):
        for worker in workers:
            worker.optimize(limited, n_trials=1)
    assert params(workers[0]) == params(run(10))


def test_trials_that_were_asked_for_together_differ_from_each_other():
    study = run(8)
    together = [study.ask(SPACE).params for _ in range(5)]
    assert len({tuple(p.items()) for p in together}) == 5


def test_what_was_expected_of_running_trials_leaves_no_trace_in_a_sampler():
    study = run(9)
    for trial in [study.ask(SPACE) for _ in range(2)]:
        study.tell(trial, limited(trial))
    assert study.ask(SPACE).params == resumed(study).ask(SPACE).params


def test_a_sampler_can_be_pickled_with_what_it_has_learned():
    study = run(9)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    study.optimize(limited, n_trials=3)
    assert params(study) == params(run(12))


def resumed(study):
    """Return a copy of a study, less the last trial, with a new sampler."""
    copy = study_of()
    copy.add_trials(study.trials[:-1])
    return copy


def fails(trial):
    return math.nan


def is_pruned(trial):
    raise optuna.TrialPruned


@pytest.mark.parametrize("give_up", [fails, is_pruned])
def test_parameters_that_failed_or_were_pruned_count_as_the_worst_and_their_region_is_left(give_up):
    study = run(40, lambda trial: limited(trial) if trial.suggest_float("x", 0, 1) <= 0.5 else give_up(trial))
    failed = [trial.number for trial in study.trials if trial.state.name in ("FAIL", "PRUNED")]
    assert "y" not in study.trials[failed[-1]].params
    assert 1 <= len(failed) <= 12
    assert len([number for number in failed if number >= 30]) <= 2


def test_parameters_that_failed_and_were_repeated_with_success_are_not_held_against_them():
    plain, interrupted = run(8), study_of()
    for i, trial in enumerate(plain.trials):
        if i == 5:
            interrupted.add_trial(
                optuna.create_trial(
                    state=optuna.trial.TrialState.FAIL, params=trial.params, distributions=trial.distributions
                )
            )
        interrupted.add_trial(trial)
    table = trials_module.Table(SPACE, ("latency",), (), True)
    assert table.ended(interrupted.trials) == table.ended(plain.trials)


def test_a_sampler_forgets_a_failure_once_its_parameters_were_repeated_with_success():
    study = run(6)
    failed = study.ask(SPACE)
    study.tell(failed, state=optuna.trial.TrialState.FAIL)
    study.optimize(limited, n_trials=2)
    study.enqueue_trial(failed.params)
    study.optimize(limited, n_trials=1)
    assert study.trials[-1].params == failed.params
    assert study.ask(SPACE).params == resumed(study).ask(SPACE).params


def test_an_infinite_value_counts_as_the_worst_so_far():
    study = run(30, lambda trial: -math.inf if trial.suggest_float("x", 0, 1) > 0.5 else trial.params["x"])
    assert np.mean([trial.params["x"] > 0.5 for trial in study.trials[15:]]) <= 0.3


def test_trials_before_a_constraint_was_added_are_still_learned_from():
    study = run(6, objective)
    study.optimize(limited, n_trials=6)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE"] * 12


def test_parameters_that_only_some_trials_have_are_drawn_at_random_and_the_others_are_not():
    sampler = SoftbanditSampler()

    def conditional(trial):
        x = trial.suggest_float("x", 0, 1)
        return x + (trial.suggest_float("y", 0, 1) if x > 0.5 else 0)

    study = run(12, conditional, sampler=sampler)
    assert set(sampler.infer_relative_search_space(study, study.trials[-1])) == {"x"}


def test_a_limit_out_of_reach_is_said_once():
    def strict(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.set_constraint("cost", 1 + x + 0.1 * math.sin(5 * x))
        return x

    with pytest.warns(sb.PolicyWarning) as caught:
        run(30, strict)
    assert len([w for w in caught if "No mixture of arms meets the limits" in str(w.message)]) == 1


DISTRIBUTIONS = [
    (optuna.distributions.FloatDistribution(-2, 5), -2.0, 5.0),
    (optuna.distributions.FloatDistribution(0.1, 0.7, step=0.1), 0.1, 0.7),
    (optuna.distributions.FloatDistribution(1e-5, 10, log=True), 1e-5, 10.0),
    (optuna.distributions.IntDistribution(-3, 9, step=3), -3, 9),
    (optuna.distributions.IntDistribution(1, 1000, log=True), 1, 1000),
    (optuna.distributions.CategoricalDistribution([None, "a", True, 1.5]), None, 1.5),
]


@pytest.mark.parametrize(("distribution", "first", "last"), DISTRIBUTIONS, ids=str)
def test_a_distribution_becomes_a_parameter_with_the_same_values(distribution, first, last):
    table = trials_module.Table({"p": distribution}, (), (), True)
    for value in (first, last):
        trial = optuna.create_trial(value=1.0, params={"p": value}, distributions={"p": distribution})
        x = np.array(table.ended([trial])[0].x)
        assert table.values(x) == {"p": value}
        assert type(table.values(x)["p"]) is type(value)
    drawn = table.space.at(np.random.default_rng(0).random((50, table.space.dimension)))
    assert all(distribution._contains(distribution.to_internal_repr(table.values(x)["p"])) for x in drawn)
