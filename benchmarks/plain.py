"""A plain transcription of the paper, one trial at a time: the yardstick of core.py and engines.py.

It keeps the posterior as the paper writes it, mu_t and k_t(x, x') over all n arms, and
updates both by the rank-one form of equations (mu) and (sigma): O(n^2) per round, the
cheapest reading of the n x n formulas. Line numbers are those of Algorithm 1.
"""

import numpy as np


def run(problem, explore, horizon, seed, shared, regularisation=None, confidence=0.1):
    """Return the arms played in one trial. `shared`: f and g use one covariance matrix instead of one each."""
    f, g, R = problem.reward, problem.cost, problem.noise
    B, G, T = problem.reward_bound, problem.cost_bound, horizon
    lam = 1 + 2 / T if regularisation is None else regularisation
    rho = 4 * B / problem.slater
    V = G * np.sqrt(T) / rho
    rng = np.random.default_rng(seed)
    n = len(f)
    mu_f, mu_g = np.zeros(n), np.zeros(n)
    k_f = problem.kernel(problem.arms, problem.arms)
    k_g = k_f if shared else k_f.copy()
    gain_f = gain_g = phi = 0.0
    arms = np.empty(T, dtype=int)
    for t in range(T):
        beta_f = B + R * np.sqrt(2 * (gain_f + 1 + np.log(2 / confidence)))
        beta_g = G + R * np.sqrt(2 * (gain_g + 1 + np.log(2 / confidence)))
        f_t = estimate(rng, explore, mu_f, k_f, beta_f)  # line 2
        g_t = estimate(rng, explore, mu_g, k_g, -beta_g)
        f_bar = np.clip(f_t, -B, B)  # line 3
        g_bar = np.clip(g_t, -G, G)  # line 4
        z = f_bar - phi * g_bar  # line 5
        x = rng.choice(np.flatnonzero(z == z.max()))  # line 6
        r, c = f[x] + R * rng.standard_normal(), g[x] + R * rng.standard_normal()
        phi = min(max(phi + g_bar[x] / V, 0.0), rho)  # line 7
        arms[t] = x
        if shared:  # line 8
            column, d = k_f[:, x].copy(), lam + k_f[x, x]
            mu_f += column * ((r - mu_f[x]) / d)
            mu_g += column * ((c - mu_g[x]) / d)
            gain_f = gain_g = gain_f + 0.5 * np.log(d / lam)
            k_f -= np.outer(column, column / d)
        else:
            gain_f += condition(mu_f, k_f, x, r, lam)
            gain_g += condition(mu_g, k_g, x, c, lam)
    return arms


def estimate(rng, explore, mu, k, beta):
    if explore == "ts":
        root = np.linalg.cholesky(k + 1e-9 * np.eye(len(mu)))
        return mu + beta * (root @ rng.standard_normal(len(mu)))
    sigma = np.sqrt(np.maximum(np.diagonal(k), 0.0))
    return mu + (beta * rng.standard_normal() if explore == "rand" else beta) * sigma


def condition(mu, k, x, y, lam):
    """Update mu and k in place and return the information gain."""
    column, d = k[:, x].copy(), lam + k[x, x]
    mu += column * ((y - mu[x]) / d)
    k -= np.outer(column, column / d)
    return 0.5 * np.log(d / lam)
