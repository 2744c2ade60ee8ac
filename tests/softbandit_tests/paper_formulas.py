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


def moments_of_played_arms(K, arms, y, lam):
    """mu_t and sigma_t by counts, if every arm was played: with D = diag(lambda / counts) and C = (K + D)^-1,

    mu = m - D C m and var = D - D C D: nothing cancels however small D is, as it does in K - K C K.
    """
    counts = np.bincount(arms, minlength=len(K))
    means, d = np.bincount(arms, weights=y) / counts, lam / counts
    C = np.linalg.inv(K + np.diag(d))
    return means - d * (C @ means), np.sqrt(d - d**2 * np.diagonal(C))


def information_gain(K, arms, lam):
    """1/2 ln det(I + K_t / lambda)."""
    if len(arms) == 0:
        return 0.0
    return 0.5 * np.linalg.slogdet(np.eye(len(arms)) + K[np.ix_(arms, arms)] / lam)[1]


def paper_width(bound, noise, lam, gain, m, alpha):
    """beta_t of Theorem 3.3, with ln((m + 1) / alpha)."""
    return bound + noise * np.sqrt(2 * (gain + 1 + np.log((m + 1) / alpha)))


def tight_width(bound, noise, lam, gain, m, alpha):
    """beta_t for any lambda > 0, by the mixture of likelihood ratios."""
    return np.sqrt(bound**2 + noise**2 / lam * (2 * gain + 2 * np.log((m + 1) / alpha)))


def ckb_ucb(
    K, f, g, B, G, R, T, delta, alpha, eta, xi, slack=0.0, queue=False, rounds=None, width_scale=1.0,
    tight=False, measured=False,
):  # fmt: skip
    """Algorithm 1 with GP-UCB (or Algorithm 2 if queue), m constraints, first maximiser.

    g and xi are (n, m) and (rounds, m). Returns arms, duals before each update, and acquisition values.
    `tight`: lambda = R^2 / (0.1 B^2) for each output, and the width that is valid with it.
    `measured`: line 7 has the observed cost in place of the estimate.
    """
    n, m = g.shape
    bounds = [B, *G]
    lams = [R**2 / (0.1 * bound**2) for bound in bounds] if tight else [1 + 2 / T] * (m + 1)
    width = tight_width if tight else paper_width
    rho = 4 * B / delta
    V = [G[i] * np.sqrt(T) / rho for i in range(m)]
    dual = [0.0] * m
    arms, duals, values = [], [], []
    seen = [[] for _ in bounds]  # what was observed of each output
    for t in range(1, (rounds or T) + 1):
        bars = []
        for sign, bound, lam, y in zip([1] + [-1] * m, bounds, lams, seen, strict=True):
            mu, k = posterior(K, arms, y, lam) if arms else (np.zeros(n), K)
            sigma = np.sqrt(np.maximum(np.diag(k), 0))
            beta = width_scale * width(bound, R, lam, information_gain(K, arms, lam), m, alpha)
            bars.append(np.clip(mu + sign * beta * sigma, -bound, bound))  # lines 2 to 4
        f_bar, *g_bar = bars
        price = [dual[i] / V[i] if queue else dual[i] for i in range(m)]
        z = f_bar - sum(price[i] * g_bar[i] for i in range(m))  # line 5
        x = int(np.argmax(z))  # line 6
        arms.append(x)
        duals.append(list(dual))
        values.append(z)
        seen[0].append(f[x] + eta[t - 1])
        for i in range(m):  # line 7
            seen[1 + i].append(g[x, i] + xi[t - 1, i])
            step = (seen[1 + i][-1] if measured else g_bar[i][x]) + slack
            dual[i] = max(dual[i] + step, 0.0) if queue else min(max(dual[i] + step / V[i], 0.0), rho)
    return np.array(arms), np.array(duals), np.array(values)
