import numpy as np
import pytest
from scipy import stats

import softbandit as sb
from softbandit.backend.random import PROBLEM, draw

COUNT = 40_000
KS = 1.95 / np.sqrt(COUNT)  # the Kolmogorov-Smirnov distance of the true law exceeds this with probability 1e-3


def sample(law, scale=0.7, outputs=2):
    draws = next(draw(law.draws(outputs), 5, range(COUNT), 0, 1, PROBLEM).rounds())
    return law.sample(scale, np.zeros(COUNT, dtype=int), draws)


@pytest.mark.parametrize(
    ("law", "truth"),
    [
        (sb.problems.GaussianNoise(), stats.norm(scale=0.7)),
        (sb.problems.UniformNoise(), stats.uniform(-0.7 * np.sqrt(3), 1.4 * np.sqrt(3))),
        (sb.problems.StudentNoise(3), stats.t(3, scale=0.7 / np.sqrt(3))),
        (sb.problems.StudentNoise(7.5), stats.t(7.5, scale=0.7 / np.sqrt(7.5 / 5.5))),
    ],
    ids=str,
)
def test_each_law_has_its_distribution_and_standard_deviation(law, truth):
    noise = sample(law)
    assert noise.shape == (COUNT, 2)
    assert truth.std() == pytest.approx(0.7)
    for output in noise.T:
        assert stats.kstest(output, truth.cdf).statistic < KS
    # Independent outputs: ranks correlate by at most 4 standard errors.
    assert abs(stats.spearmanr(*noise.T).statistic) < 4 / np.sqrt(COUNT)


def test_resampled_rows_are_drawn_whole_and_uniformly():
    rows = np.arange(5.0)
    table = np.stack([rows - 2, 2 - rows], axis=1)[:, None, :].repeat(3, axis=1)  # 5 rows, 3 arms, cost = -reward
    noise = sample(sb.problems.ResampledNoise(table))
    np.testing.assert_array_equal(noise[:, 1], -noise[:, 0])
    share = np.array([(noise[:, 0] == value).mean() for value in rows - 2])
    np.testing.assert_allclose(share, 0.2, atol=4 * np.sqrt(0.2 * 0.8 / COUNT))  # four standard errors


def test_resampled_noise_depends_on_the_arm():
    table = np.arange(12.0).reshape(2, 3, 2)
    law = sb.problems.ResampledNoise(table)
    draws = next(draw(law.draws(2), 0, range(9), 0, 1, PROBLEM).rounds())
    for arm in range(3):
        noise = law.sample(1.0, np.full(9, arm), draws)
        assert {tuple(row) for row in noise} <= {tuple(row) for row in table[:, arm]}


@pytest.mark.parametrize(("ones", "rows"), [(1, 2), (1, 3), (1, 20), (99, 100), (1, 1000)])
def test_the_sub_gaussian_scale_of_two_values_is_that_of_kearns_and_saul(ones, rows):
    """A Bernoulli(p) is R-sub-Gaussian for R^2 >= (1 - 2p) / (2 ln((1 - p) / p)), and for no less."""
    table = np.zeros((rows, 1, 1))
    table[:ones] = 3.0
    p = ones / rows
    exact = 0.5 if p == 0.5 else np.sqrt((1 - 2 * p) / (2 * np.log((1 - p) / p)))
    scale = sb.problems.ResampledNoise(table).sub_gaussian()
    assert 0.99 * 3 * exact <= scale <= 3 * exact * (1 + 1e-9)


def test_the_sub_gaussian_scale_is_that_of_the_worst_column():
    rng = np.random.default_rng(0)
    table = np.stack([rng.uniform(-1, 1, (300, 4)), np.zeros((300, 4))], axis=2)
    table[:, 2, 0] *= 3
    table[0, 1, 0] = 5.0  # an outlier
    worst = 0.0
    for column in table.reshape(300, -1).T:
        eta = column - column.mean()
        theta = np.concatenate([-np.geomspace(1e-2, 30, 4000), np.geomspace(1e-2, 30, 4000)])
        worst = max(worst, (np.sqrt(2 * np.log(np.exp(np.outer(theta, eta)).mean(axis=1))) / abs(theta)).max())
    assert sb.problems.ResampledNoise(table).sub_gaussian() == pytest.approx(worst, rel=0.01)
    assert sb.problems.ResampledNoise(np.zeros((3, 2, 2))).sub_gaussian() == 0.0


@pytest.mark.parametrize("engine", ["numpy", pytest.param("jax", marks=pytest.mark.extra)])
@pytest.mark.parametrize("law", ["uniform", "student", "rows"])
def test_observations_have_the_problems_noise_law_on_both_engines(law, engine):
    table = np.random.default_rng(0).uniform(-1, 1, (7, 30, 2))
    noise_law = sb.problems.ResampledNoise(table) if law == "rows" else law
    problem = sb.problems.rkhs(arms=30, seed=1, noise=0.2, law=noise_law)
    trace = sb.simulate(sb.CKB(**problem.settings(), horizon=50), problem, trials=3, engine=engine)
    noise = np.stack([trace.rewards - problem.reward[trace.arms], trace.costs - problem.cost[trace.arms]], axis=-1)
    draws = draw(problem.draws(), 0, range(3), 0, 50, PROBLEM)
    for t, round_draws in enumerate(draws.rounds()):
        np.testing.assert_allclose(noise[:, t], problem.law.sample(0.2, trace.arms[:, t], round_draws), atol=1e-12)
    assert noise.std() > 0.05


def test_contexts_and_noise_use_separate_draws():
    labels = np.arange(30) % 3
    problem = sb.problems.rkhs(arms=30, seed=1, law="uniform")
    problem = sb.problems.Problem(**{**vars(problem), "contexts": labels})
    trace = sb.simulate(sb.CKB(**problem.settings(), horizon=400), problem)
    noise = trace.rewards - problem.reward[trace.arms]
    for label in range(3):  # the noise is centred within each context: 4 standard errors of about 130 rounds
        assert abs(noise[labels[trace.arms] == label].mean()) < 4 * 0.1 / np.sqrt(100)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: sb.problems.StudentNoise(2),
        lambda: sb.problems.ResampledNoise(np.zeros((3, 4))),
        lambda: sb.problems.ResampledNoise(np.full((3, 4, 2), np.nan)),
        lambda: sb.problems.rkhs(law="gausian"),
        lambda: sb.problems.rkhs(arms=30, law=sb.problems.ResampledNoise(np.zeros((3, 4, 2)))),
        lambda: sb.problems.Problem(**{**vars(sb.problems.rkhs()), "law": 3}),
    ],
)
def test_invalid_noise_laws_are_refused(bad):
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        bad()
