"""The same work with BoTorch and scikit-learn, at fixed hyperparameters, in one run.

`python benchmarks/peers.py` runs CKB-UCB on a synthetic problem with softbandit and with its peers, and times rounds
100, 500 and 1,000. A peer's round is what its users write: one GP of the reward and one of the cost on all data so far
(no fitting of hyperparameters), the posterior over the arms, the acquisition, the dual step. softbandit's time is the
mean over all rounds, per trial, on each engine. All observe the same data: the arms, rewards and costs of one run of
softbandit. The peers' posteriors are compared with softbandit's before they are timed, so that the work is the same.

Needs: pip install torch botorch scikit-learn (and jax for the compiled engine).
"""

import argparse
import os

for library in ("OMP", "OPENBLAS", "MKL"):
    # One thread each: threads of several libraries in one process wait for each other.
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np
from stopwatch import seconds

import softbandit as sb

ROUNDS = (100, 500, 1000)
TRIALS = (1, 50)
WIDTH = 0.2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    problem = sb.problems.rkhs(seed=3)
    policy = sb.CKB(**problem.settings(), horizon=max(ROUNDS), width_scale=WIDTH)
    trace = sb.simulate(policy, problem, engine="numpy")
    peers = {
        "BoTorch": botorch_posterior(policy),
        "scikit-learn": sklearn_posterior(policy),
        "dense NumPy": dense(policy),
    }
    runs = [(engine, trials) for engine in ("numpy", "jax") for trials in TRIALS]
    ours = {f"{engine}, {trials_text(trials)}": ours_us(policy, problem, engine, trials) for engine, trials in runs}
    print(f"{'us per round':22}" + "".join(f"{'round ' + format(t, ','):>14}" for t in ROUNDS))
    for name, us in ours.items():
        print(f"{name:22}" + "".join(f"{us:14,.2f}" for _ in ROUNDS))
    for name, posterior in peers.items():
        times = [peer_us(posterior, policy, trace, t, options.repeats) for t in ROUNDS]
        print(f"{name:22}" + "".join(f"{us:14,.0f}" for us in times))
        for label, us in ours.items():
            print(f"  / {label:18}" + "".join(f"{peer / us:13,.0f}x" for peer in times))
    print("softbandit on numpy and jax: mean of rounds 1 to 1,000, per trial; JAX plays 50 trials on all cores.")


def trials_text(trials):
    return "one trial" if trials == 1 else f"{trials} trials"


def ours_us(policy, problem, engine, trials):
    """Return microseconds per trial-round: the fastest of three runs, after one that compiles."""
    _, *times = (seconds(lambda: sb.simulate(policy, problem, trials, engine=engine)) for _ in range(4))
    return 1e6 * min(times) / trials / policy.horizon


def peer_us(posterior, policy, trace, t, repeats):
    """Return microseconds for round t of a peer. Its posterior is checked first."""
    data = trace.arms[0, : t - 1], trace.rewards[0, : t - 1], trace.costs[0, : t - 1]
    agent = sb.Agent(policy, seed=0)
    for arm, reward, cost in zip(*data, strict=True):
        decision = agent.ask()
        assert decision.arm == arm
        agent.tell(decision, reward, cost)
    mean, std = posterior(*data)
    np.testing.assert_allclose(mean, agent.posterior.mean(), atol=1e-4)
    np.testing.assert_allclose(std, agent.posterior.std(), atol=1e-4)
    return 1e6 * min(seconds(lambda: step(policy, *posterior(*data), dual=1.0)) for _ in range(repeats))


def step(policy, mean, std, dual):
    """Run lines 2 to 7 of Algorithm 1, given the posterior."""
    B, G = policy.bounds[:, 0]
    f = np.clip(mean[0] + 2.0 * std[0], -B, B)
    g = np.clip(mean[1] - 2.0 * std[1], -G, G)
    arm = int(np.argmax(f - dual * g))
    return arm, min(max(dual + g[arm] / policy.V, 0.0), policy.rho)


def regularisation(policy):
    return policy.model.groups[0].regularisation


def dense(policy):
    """Return the textbook posterior: one Cholesky factorisation per round, shared by both outputs."""
    X, k, lam = policy.arms, policy.kernel, regularisation(policy)

    def posterior(arms, rewards, costs):
        K = k(X[arms], X[arms]) + lam * np.eye(len(arms))
        cross = k(X[arms], X)
        L = np.linalg.cholesky(K)
        half = np.linalg.solve(L, cross)
        mean = half.T @ np.linalg.solve(L, np.stack([rewards, costs], axis=1))
        std = np.sqrt(np.maximum(k.diag(X) - (half * half).sum(axis=0), 0))
        return mean.T, np.stack([std, std])

    return posterior


def sklearn_posterior(policy):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    kernel, lam = RBF(policy.kernel.lengthscale, "fixed"), regularisation(policy)

    def posterior(arms, *outputs):
        X = policy.arms[arms]
        models = [GaussianProcessRegressor(kernel, alpha=lam, optimizer=None).fit(X, y) for y in outputs]
        means, stds = zip(*(model.predict(policy.arms, return_std=True) for model in models), strict=True)
        return np.stack(means), np.stack(stds)

    return posterior


def botorch_posterior(policy):
    import torch
    from botorch.models import ModelListGP, SingleTaskGP
    from gpytorch.kernels import RBFKernel
    from gpytorch.means import ZeroMean

    torch.set_default_dtype(torch.float64)
    grid, lam = torch.tensor(policy.arms), regularisation(policy)

    def posterior(arms, *outputs):
        X = torch.tensor(policy.arms[arms])
        models = []
        for y in outputs:
            Y = torch.tensor(y)[:, None]
            kernel = RBFKernel()
            kernel.lengthscale = policy.kernel.lengthscale
            models.append(
                SingleTaskGP(
                    X, Y, torch.full_like(Y, lam), covar_module=kernel, mean_module=ZeroMean(), outcome_transform=None
                )
            )
        with torch.no_grad():
            joint = ModelListGP(*models).posterior(grid)
            return joint.mean.T.numpy(), joint.variance.sqrt().T.numpy()

    return posterior


if __name__ == "__main__":
    main()
