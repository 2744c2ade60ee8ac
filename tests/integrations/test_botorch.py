"""BoTorch weighs 1 GB and is not among the development requirements: without it, these tests are skipped."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import softbandit as sb

torch = pytest.importorskip("torch", reason="needs torch and botorch: pip install 'softbandit[botorch]'")
pytest.importorskip("botorch", reason="needs botorch: pip install 'softbandit[botorch]'")
adapter = pytest.importorskip("softbandit.integrations.botorch")
synthetic = pytest.importorskip("botorch.test_functions.synthetic")
pytestmark = pytest.mark.extra

FUNCTIONS = {
    name: (lambda kind=kind: kind(dim=5)) if name == "KeaneBumpFunction" else kind
    for name, kind in vars(synthetic).items()
    if inspect.isclass(kind) and issubclass(kind, synthetic.ConstrainedBaseTestProblem) and not inspect.isabstract(kind)
}


def test_all_constrained_functions_are_tried():
    assert {"ConstrainedGramacy", "PressureVessel", "SpeedReducer", "KeaneBumpFunction"} <= FUNCTIONS.keys()


@pytest.mark.parametrize("build", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_problem_has_the_limits_of_the_function_and_rewards_that_rise_as_it_falls(build):
    function = build()
    problem = adapter.from_botorch(function)
    X = problem.arms.at(np.random.default_rng(1).random((300, problem.arms.dimension)))
    values = problem.function(X)
    feasible = function.is_feasible(torch.as_tensor(X), noise=False).numpy()
    np.testing.assert_array_equal((values[:, 1:] <= 0).all(axis=1), feasible)
    f = function(torch.as_tensor(X), noise=False).numpy()
    slope, centre = np.polyfit(f, values[:, 0], 1)
    np.testing.assert_allclose(slope * f + centre, values[:, 0], atol=1e-9)
    assert slope < 0
    assert (problem.function(problem.witnesses)[:, 1:] <= 0).all(axis=1).any()


def test_a_negated_function_is_the_same_problem():
    a, b = (adapter.from_botorch(synthetic.ConstrainedGramacy(negate=negate)) for negate in (False, True))
    X = np.random.default_rng(0).random((20, 2))
    np.testing.assert_allclose(a.function(X), b.function(X))
    assert a.best_value == pytest.approx(b.best_value)


def test_the_stated_optimum_is_that_of_a_search():
    problem = adapter.from_botorch(synthetic.ConstrainedGramacy())
    stated, found = problem.known_best, sb.problems.SpaceProblem(**{**vars_of(problem), "known_best": None}).best_value
    assert found == pytest.approx(stated, abs=2e-3)


def vars_of(problem):
    return {name: getattr(problem, name) for name in inspect.signature(type(problem)).parameters}


def test_policies_run_on_a_function():
    problem = adapter.from_botorch(synthetic.ConstrainedGramacy())
    trace = sb.simulate(sb.Autopilot(problem.arms, constraints=2), problem, rounds=8)
    assert sb.score(trace, problem).strong_regret.shape == (1, 8)


@pytest.mark.parametrize("function", [3, "Gramacy", synthetic.Branin()])
def test_what_is_no_constrained_function_is_refused(function):
    with pytest.raises(sb.ArgumentError):
        adapter.from_botorch(function)


# -- The acquisition. --


def test_the_example_in_the_docs_runs():
    page = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text()
    (block,) = re.findall(r"^```py\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    names = {"np": np}
    exec(compile(block, "docs/integrations.md", "exec"), names)
    assert names["X"].shape == (11, 2)


WIDTH, BOUNDS, LAMBDA = 0.5, (0.9, 0.4), 0.1


@pytest.fixture(scope="module")
def agent():
    policy = sb.CKB(
        sb.Box([0, 0], [1, 1]),
        sb.SquaredExponential(0.3),
        width=WIDTH,
        reward_bound=BOUNDS[0],
        cost_bound=BOUNDS[1],
        noise=0.1,
        regularisation=LAMBDA,
        horizon=50,
        slater=0.2,
    )
    agent = sb.Agent(policy)
    for _ in range(12):
        decision = agent.ask()
        agent.tell(decision, reward=float(np.sin(4 * decision.x).sum()) / 2, cost=float(0.3 * decision.x[0] + 0.2))
    return agent


def botorch_model(agent):
    """Return BoTorch's model with the same kernel and data: a posterior computed by others."""
    from botorch.models import SingleTaskGP
    from gpytorch.kernels import RBFKernel
    from gpytorch.means import ZeroMean

    X = torch.tensor(agent.record.arms)
    Y = torch.as_tensor(np.column_stack([agent.record.rewards, agent.record.costs]))
    kernel = RBFKernel()
    kernel.lengthscale = 0.3
    noise = torch.full_like(Y, LAMBDA)
    return SingleTaskGP(X, Y, noise, covar_module=kernel, mean_module=ZeroMean(), outcome_transform=None).double()


def test_the_acquisition_equals_that_of_an_agent_with_the_same_data(agent):
    z = adapter.CKBAcquisition(botorch_model(agent), dual=agent.dual, width=WIDTH, bounds=BOUNDS)
    X = np.random.default_rng(0).random((40, 2))
    with torch.no_grad():
        values = z(torch.as_tensor(X)[:, None]).numpy()
    assert agent.dual > 0
    np.testing.assert_allclose(values, agent.acquisition(X), atol=1e-5)  # their Cholesky factor has jitter


def test_botorch_optimises_the_acquisition_as_well_as_an_agent_does(agent):
    from botorch.optim import optimize_acqf

    torch.manual_seed(0)
    z = adapter.CKBAcquisition(botorch_model(agent), dual=agent.dual, width=WIDTH, bounds=BOUNDS)
    square = torch.tensor([[0.0, 0.0], [1.0, 1.0]]).double()
    _, value = optimize_acqf(z, square, q=1, num_restarts=4, raw_samples=128)
    assert float(value) == pytest.approx(float(agent.acquisition(agent.ask().x[None])[0]), abs=1e-3)


@pytest.mark.parametrize(
    "settings", [{"dual": [1.0, 1.0]}, {"dual": [-1.0]}, {"width": [1.0, 2.0, 3.0]}, {"bounds": [1.0]}]
)
def test_settings_that_do_not_fit_the_model_are_refused(agent, settings):
    with pytest.raises(sb.ArgumentError):
        adapter.CKBAcquisition(botorch_model(agent), **{"dual": [1.0], "width": 2.0, **settings})
