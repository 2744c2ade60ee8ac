"""The paper's formulas, written out without regard to speed: what the library is checked against.

Nothing here imports softbandit.
"""

import numpy as np


def posterior(K, arms, y, lam):
    """mu_t and k_t over all arms, by equations (mu) and (sigma): dense, one row per round.

    y is (t,) or, for several outputs at once, (t, outputs); then mu_t is (n, outputs).
    """
    arms = np.asarray(arms, dtype=int)
    k = K[arms]  # k_t(x) as columns
    weights = np.linalg.solve(K[np.ix_(arms, arms)] + lam * np.eye(len(arms)), k)
    return weights.T @ np.asarray(y, float), K - k.T @ weights


def posterior_by_counts(K, arms, y, lam):
    """The same for long histories: t observations of an arm are one of their mean, with noise lambda / t."""
    played, inverse, counts = np.unique(arms, return_inverse=True, return_counts=True)
    means = np.bincount(inverse, weights=y) / counts
    k = K[played]
    solve = np.linalg.solve(K[np.ix_(played, played)] + np.diag(lam / counts), np.c_[means, k])
    return k.T @ solve[:, 0], K - k.T @ solve[:, 1:]


def information_gain(K, arms, lam):
    """1/2 ln det(I + K_t / lambda)."""
    if len(arms) == 0:
        return 0.0
    return 0.5 * np.linalg.slogdet(np.eye(len(arms)) + K[np.ix_(arms, arms)] / lam)[1]


def ckb_ucb(K, f, g, B, G, R, T, delta, alpha, eta, xi, slack=0.0, queue=False, rounds=None, width_scale=1.0):
    """Algorithm 1 with GP-UCB (or Algorithm 2 if queue), m constraints, first maximiser.

    g and xi are (n, m) and (rounds, m). Returns arms, duals before each update, and acquisition values.
    """
    n, m = g.shape
    lam = 1 + 2 / T
    rho = 4 * B / delta
    V = [G[i] * np.sqrt(T) / rho for i in range(m)]
    dual = [0.0] * m
    arms, rewards, costs, duals, values = [], [], [], [], []
    for t in range(1, (rounds or T) + 1):
        if arms:
            means, k = posterior(K, arms, np.c_[rewards, np.reshape(costs, (-1, m))], lam)
            mu, *mu_g = means.T
        else:
            mu, k, mu_g = np.zeros(n), K, [np.zeros(n)] * m
        sigma = np.sqrt(np.maximum(np.diag(k), 0))
        root = np.sqrt(2 * (information_gain(K, arms, lam) + 1 + np.log((m + 1) / alpha)))
        f_bar = np.clip(mu + width_scale * (B + R * root) * sigma, -B, B)  # lines 2, 3
        g_bar = [
            np.clip(mu_g[i] - width_scale * (G[i] + R * root) * sigma, -G[i], G[i]) for i in range(m)
        ]  # lines 2, 4
        price = [dual[i] / V[i] if queue else dual[i] for i in range(m)]
        z = f_bar - sum(price[i] * g_bar[i] for i in range(m))  # line 5
        x = int(np.argmax(z))  # line 6
        arms.append(x)
        duals.append(list(dual))
        values.append(z)
        rewards.append(f[x] + eta[t - 1])
        costs.append(g[x] + xi[t - 1])
        for i in range(m):  # line 7
            if queue:
                dual[i] = max(dual[i] + g_bar[i][x] + slack, 0.0)
            else:
                dual[i] = min(max(dual[i] + (g_bar[i][x] + slack) / V[i], 0.0), rho)
    return np.array(arms), np.array(duals), np.array(values)
