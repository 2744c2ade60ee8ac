"""The baselines' algorithms on finite arms, transcribed loop by loop without regard to speed.

The library's baselines are checked against them, decision by decision. Nothing here imports softbandit.
Throughout, K is the n x n kernel matrix, f (n,) the reward, g (n, m) the costs, eta (T,) and xi (T, m) the noise of
rounds t = 1..T, B and G (m numbers) the norm bounds, R the noise scale, and lambda = 1 + 2/T.
u = mu + beta sigma and l = mu - beta sigma, so that f^ = u_f and g_i_ = l_gi are the optimistic reward and costs.
"""

import math

import numpy as np
from scipy.optimize import linprog
from softbandit_tests import paper_formulas

TOLERANCE = 1e-12  # values this close (relatively) to the best count as tied with it


def first_max(values, candidates=None):
    """The first candidate whose value is at least max - 1e-12 |max|. No candidates are an error."""
    candidates = list(range(len(values))) if candidates is None else list(candidates)
    if not candidates:
        raise ValueError("no candidates to choose from")
    best = max(values[x] for x in candidates)
    return next(x for x in candidates if values[x] >= best - TOLERANCE * abs(best))


def first_min(values, candidates=None):
    """The first candidate whose value is at most min + 1e-12 |min|."""
    return first_max([-v for v in values], candidates)


def positive(v):
    """[v]_+ = max(v, 0)."""
    return max(float(v), 0.0)


def posteriors(K, arms, rewards, costs, m, lam):
    """mu_f, k and [mu_g1, .., mu_gm] after the history so far (the prior if there is none)."""
    n = len(K)
    if len(arms) == 0:
        return np.zeros(n), np.array(K, dtype=float), [np.zeros(n) for _ in range(m)]
    y = np.c_[rewards, np.reshape(costs, (-1, m))] if m else np.reshape(rewards, (-1, 1))
    means, k = paper_formulas.posterior(K, arms, y, lam)
    mu_f, *mu_g = means.T
    return mu_f, k, mu_g


def deviations(k):
    """sigma(x) = sqrt(max(k(x, x), 0))."""
    return np.array([math.sqrt(max(k[x, x], 0.0)) for x in range(len(k))])


def confidence(K, arms, rewards, costs, B, G, R, lam, alpha, scale):
    """mu_f, sigma, [mu_gi], beta_f, [beta_i] after the history so far, with m = len(G).

    root = sqrt(2 (gain + 1 + ln((m + 1)/alpha))), gain = 1/2 ln det(I + K_t/lambda) of the arms so far,
    beta_f = scale (B + R root), beta_i = scale (G_i + R root).
    """
    m = len(G)
    mu_f, k, mu_g = posteriors(K, arms, rewards, costs, m, lam)
    gain = paper_formulas.information_gain(K, arms, lam)
    root = math.sqrt(2 * (gain + 1 + math.log((m + 1) / alpha)))
    return mu_f, deviations(k), mu_g, scale * (B + R * root), [scale * (G[i] + R * root) for i in range(m)]


def optimism(K, arms, rewards, costs, B, G, R, lam, alpha, scale):
    """f^ = u_f, the list of g_i_ = l_gi, and beta_f."""
    mu_f, sigma, mu_g, beta_f, beta_g = confidence(K, arms, rewards, costs, B, G, R, lam, alpha, scale)
    return mu_f + beta_f * sigma, [mu_g[i] - beta_g[i] * sigma for i in range(len(G))], beta_f


def gp_ucb(K, f, g, B, G, R, T, alpha, scale, eta, xi):
    """x_t = argmax u_f, with ln(1/alpha) in the width: there are no costs. Returns arms."""
    lam = 1 + 2 / T
    arms, rewards = [], []
    for t in range(1, T + 1):
        f_hat, _, _ = optimism(K, arms, rewards, [], B, [], R, lam, alpha, scale)
        x = first_max(f_hat)
        arms.append(x)
        rewards.append(f[x] + eta[t - 1])
    return arms


def rpol(K, f, g, B, G, R, T, alpha, scale, eta, xi):
    """x_t = argmax f^ - sum_i Q_i [g_i_]_+;  Q_i <- max(Q_i + [c_i]_+, sqrt(t)), Q_i(1) = 1. Returns arms, queues."""
    n, m = g.shape
    lam = 1 + 2 / T
    Q = [1.0] * m
    arms, rewards, costs, queues = [], [], [], []
    for t in range(1, T + 1):
        f_hat, g_low, _ = optimism(K, arms, rewards, costs, B, G, R, lam, alpha, scale)
        x = first_max([f_hat[a] - sum(Q[i] * positive(g_low[i][a]) for i in range(m)) for a in range(n)])
        c = g[x] + xi[t - 1]
        queues.append(list(Q))
        for i in range(m):
            Q[i] = max(Q[i] + positive(c[i]), math.sqrt(t))
        arms.append(x)
        rewards.append(f[x] + eta[t - 1])
        costs.append(c)
    return arms, queues


def pobo(K, f, g, B, G, R, T, alpha, scale, eta, xi, delta, hard=(), c=1.0, e=1e-4, h=0.05):
    """x_t = argmax f^ - sum over soft i of (Q_i/V_t) g_i_ - sum over hard i of P_i [g_i_]_+.

    V_t = c (delta/8) sqrt(t)/beta_f(t), eps_t = e (6 beta_f(t) sqrt(gain) + 2)/sqrt(t);
    Q_i <- [Q_i + g_i_(x) + eps_t]_+, Q_i(1) = 0;  P_i <- max(P_i + [c_i]_+, h t), P_i(1) = 1.
    Returns arms and, before each update, the Q_i of soft and the P_i of hard constraints.
    """
    n, m = g.shape
    lam = 1 + 2 / T
    soft = [i for i in range(m) if i not in hard]
    Q, P = dict.fromkeys(soft, 0.0), dict.fromkeys(hard, 1.0)
    arms, rewards, costs, queues = [], [], [], []
    for t in range(1, T + 1):
        f_hat, g_low, beta_f = optimism(K, arms, rewards, costs, B, G, R, lam, alpha, scale)
        V = c * delta / 8 * math.sqrt(t) / beta_f
        eps = e * (6 * beta_f * math.sqrt(paper_formulas.information_gain(K, arms, lam)) + 2) / math.sqrt(t)
        values = []
        for a in range(n):
            average = sum(Q[i] / V * g_low[i][a] for i in soft)
            certain = sum(P[i] * positive(g_low[i][a]) for i in hard)
            values.append(f_hat[a] - average - certain)
        x = first_max(values)
        cost = g[x] + xi[t - 1]
        queues.append([P[i] if i in hard else Q[i] for i in range(m)])
        for i in soft:
            Q[i] = positive(Q[i] + g_low[i][x] + eps)
        for i in hard:
            P[i] = max(P[i] + positive(cost[i]), h * t)
        arms.append(x)
        rewards.append(f[x] + eta[t - 1])
        costs.append(cost)
    return arms, queues


def pdcbo(K, f, g, B, G, R, T, alpha, scale, eta, xi, step, start=0.0, slack=0.0, contexts=None, round_contexts=None):
    """x_t = argmax f^ - step sum_i lambda_i g_i_;  lambda_i <- [lambda_i + g_i_(x) + slack]_+, lambda_i(1) = start,
    where g_i_ = max(l_gi, -G_i).

    With contexts (one per arm) and round_contexts (one per round), only over the arms of the round's context.
    Returns arms and the lambda before each update.
    """
    n, m = g.shape
    lam = 1 + 2 / T
    dual = [start] * m
    arms, rewards, costs, duals = [], [], [], []
    for t in range(1, T + 1):
        f_hat, l_g, _ = optimism(K, arms, rewards, costs, B, G, R, lam, alpha, scale)
        g_low = [[max(v, -G[i]) for v in l_g[i]] for i in range(m)]
        values = [f_hat[a] - step * sum(dual[i] * g_low[i][a] for i in range(m)) for a in range(n)]
        allowed = [a for a in range(n) if contexts is None or contexts[a] == round_contexts[t - 1]]
        x = first_max(values, allowed)
        duals.append(list(dual))
        for i in range(m):
            dual[i] = positive(dual[i] + g_low[i][x] + slack)
        arms.append(x)
        rewards.append(f[x] + eta[t - 1])
        costs.append(g[x] + xi[t - 1])
    return arms, duals


def config(K, f, g, B, G, R, T, alpha, scale, eta, xi):
    """x_t = argmax f^ over {x: g_i_(x) <= 0 for all i}; if that is empty, infeasibility is declared and
    x_t = argmin sum_i [g_i_]_+. Returns arms and, per round, whether it was declared infeasible.
    """
    n, m = g.shape
    lam = 1 + 2 / T
    arms, rewards, costs, declared = [], [], [], []
    for t in range(1, T + 1):
        f_hat, g_low, _ = optimism(K, arms, rewards, costs, B, G, R, lam, alpha, scale)
        feasible = [a for a in range(n) if all(g_low[i][a] <= 0 for i in range(m))]
        if feasible:
            x = first_max(f_hat, feasible)
        else:
            x = first_min([sum(positive(g_low[i][a]) for i in range(m)) for a in range(n)])
        declared.append(not feasible)
        arms.append(x)
        rewards.append(f[x] + eta[t - 1])
        costs.append(g[x] + xi[t - 1])
    return arms, declared


def epbo(K, f, g, B, G, R, T, alpha, scale, eta, xi, penalty):
    """x_t = argmax f^ - penalty sum_i [g_i_]_+. Returns arms."""
    n, m = g.shape
    lam = 1 + 2 / T
    arms, rewards, costs = [], [], []
    for t in range(1, T + 1):
        f_hat, g_low, _ = optimism(K, arms, rewards, costs, B, G, R, lam, alpha, scale)
        x = first_max([f_hat[a] - penalty * sum(positive(g_low[i][a]) for i in range(m)) for a in range(n)])
        arms.append(x)
        rewards.append(f[x] + eta[t - 1])
        costs.append(g[x] + xi[t - 1])
    return arms


def normal_cdf(z):
    """Phi(z), by erfc so that the lower tail keeps its digits."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_pdf(z):
    """phi(z)."""
    return math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


def expected_improvement(mu, sigma, incumbent):
    """(mu - inc) Phi(z) + sigma phi(z) with z = (mu - inc)/sigma; [mu - inc]_+ if sigma = 0."""
    if sigma == 0:
        return positive(mu - incumbent)
    z = (mu - incumbent) / sigma
    return (mu - incumbent) * normal_cdf(z) + sigma * normal_pdf(z)


def probability_feasible(mu, sigma):
    """P(g <= 0) = Phi(-mu/sigma); if sigma = 0, then 1 if mu <= 0 and else 0."""
    if sigma == 0:
        return 1.0 if mu <= 0 else 0.0
    return normal_cdf(-mu / sigma)


def cei(K, f, g, B, G, R, T, alpha, scale, eta, xi):
    """x_t = argmax EI(x) prod_i P(g_i(x) <= 0), with inc = max of mu_f over {x: mu_gi(x) <= 0 for all i};
    argmax prod_i P(g_i(x) <= 0) if there is no such x. No widths. Returns arms.
    """
    n, m = g.shape
    lam = 1 + 2 / T
    arms, rewards, costs = [], [], []
    for t in range(1, T + 1):
        mu_f, k, mu_g = posteriors(K, arms, rewards, costs, m, lam)
        sigma = deviations(k)
        believed = [a for a in range(n) if all(mu_g[i][a] <= 0 for i in range(m))]
        values = []
        for a in range(n):
            value = 1.0
            if believed:
                value = expected_improvement(mu_f[a], sigma[a], max(mu_f[b] for b in believed))
            for i in range(m):
                value = value * probability_feasible(mu_g[i][a], sigma[a])
            values.append(value)
        x = first_max(values)
        arms.append(x)
        rewards.append(f[x] + eta[t - 1])
        costs.append(g[x] + xi[t - 1])
    return arms


def scbo(K, f, g, B, G, R, T, alpha, scale, eta, xi, samples_f, samples_g):
    """f_t = mu_f + samples_f[t-1], g_it = mu_gi + samples_g[t-1][i], with given samples (T, n) and (T, m, n).

    x_t = argmax f_t over {x: g_it(x) <= 0 for all i}, or argmin sum_i [g_it]_+ if that is empty. Returns arms.
    """
    n, m = g.shape
    lam = 1 + 2 / T
    arms, rewards, costs = [], [], []
    for t in range(1, T + 1):
        mu_f, _, mu_g = posteriors(K, arms, rewards, costs, m, lam)
        f_t = mu_f + samples_f[t - 1]
        g_t = [mu_g[i] + samples_g[t - 1][i] for i in range(m)]
        feasible = [a for a in range(n) if all(g_t[i][a] <= 0 for i in range(m))]
        if feasible:
            x = first_max(f_t, feasible)
        else:
            x = first_min([sum(positive(g_t[i][a]) for i in range(m)) for a in range(n)])
        arms.append(x)
        rewards.append(f[x] + eta[t - 1])
        costs.append(g[x] + xi[t - 1])
    return arms


def safe_set(u_g, previous, seed, Lip, dist):
    """With Lip: seed and all x' such that for every i some x in previous has u_gi(x) + Lip_i dist(x, x') <= 0.
    Without: seed and all x' with u_gi(x') <= 0 for every i.
    """
    safe = []
    for b in range(len(u_g[0])):
        if Lip is None:
            certified = all(u[b] <= 0 for u in u_g)
        else:
            certified = all(any(u_g[i][a] + Lip[i] * dist[a][b] <= 0 for a in previous) for i in range(len(u_g)))
        if certified or b in seed:
            safe.append(b)
    return safe


def maximisers(l_f, u_f, S):
    """{x in S: u_f(x) >= max over S of l_f}."""
    best = max(l_f[a] for a in S)
    return [a for a in S if u_f[a] >= best]


def certifies(a, b, l_g, mu_g, k, beta_g, lam):
    """Whether observing g_i(a) = l_gi(a) would bring mu'_i(b) + beta_i sigma'(b) <= 0, for every i by itself, where
    mu'_i(b) = mu_i(b) + k(b, a) (l_gi(a) - mu_i(a)) / (lam + sigma^2(a)) and
    sigma'^2(b) = sigma^2(b) - k(b, a)^2 / (lam + sigma^2(a)).
    """
    variance_a, variance_b = max(k[a, a], 0.0), max(k[b, b], 0.0)
    sigma = math.sqrt(max(variance_b - k[b, a] ** 2 / (lam + variance_a), 0.0))
    certified = []
    for i in range(len(l_g)):
        mu = mu_g[i][b] + k[b, a] * (l_g[i][a] - mu_g[i][a]) / (lam + variance_a)
        certified.append(mu + beta_g[i] * sigma <= 0)
    return certified


def expanders(l_g, S, Lip, dist, mu_g, k, beta_g, lam, separately):
    """{x in S: some x' not in S is reached by every constraint i} or, separately, {x in S: every constraint i by
    itself reaches some x' not in S}. x reaches x' by i if, with Lip, l_gi(x) + Lip_i dist(x, x') <= 0 and, without,
    observing l_gi(x) at x would certify x'.
    """
    m, expanding = len(l_g), []
    for a in S:
        reached = []  # for each x' outside S, whether each constraint reaches it
        for b in range(len(l_g[0])):
            if b not in S and Lip is None:
                reached.append(certifies(a, b, l_g, mu_g, k, beta_g, lam))
            elif b not in S:
                reached.append([l_g[i][a] + Lip[i] * dist[a][b] <= 0 for i in range(m)])
        by_each, by_all = all(any(by[i] for by in reached) for i in range(m)), any(all(by) for by in reached)
        if by_each if separately else by_all:
            expanding.append(a)
    return expanding


def safe_rounds(K, f, g, B, G, R, T, alpha, scale, eta, xi, seed, Lip, dist, choose, intersect=False, separately=True):
    """The rounds that SafeOpt and StageOpt share. l_t = mu - beta sigma and u_t = mu + beta sigma, for every output; if
    they are to be intersected over time, l_t is the largest and u_t the smallest so far. S_0 = seed.

    choose(t, S, M, E, w, u_f) returns the arm, w(x) being the largest u(x) - l(x) of the reward and the costs.
    Returns arms and S_1, .., S_T.
    """
    n, m = g.shape
    lam = 1 + 2 / T
    S, seen_l, seen_u = sorted(seed), [], []
    arms, rewards, costs, safe = [], [], [], []
    for t in range(1, T + 1):
        mu_f, sigma, mu_g, beta_f, beta_g = confidence(K, arms, rewards, costs, B, G, R, lam, alpha, scale)
        _, k, _ = posteriors(K, arms, rewards, costs, m, lam)
        outputs = [(mu_f, beta_f), *zip(mu_g, beta_g, strict=True)]
        seen_l.append([mu - beta * sigma for mu, beta in outputs])
        seen_u.append([mu + beta * sigma for mu, beta in outputs])
        rounds = slice(0 if intersect else t - 1, t)
        l_f, *l_g = np.max(seen_l[rounds], axis=0)
        u_f, *u_g = np.min(seen_u[rounds], axis=0)
        S = safe_set(u_g, S, seed, Lip, dist)
        M = maximisers(l_f, u_f, S)
        E = expanders(l_g, S, Lip, dist, mu_g, k, beta_g, lam, separately)
        w = [max([u_f[a] - l_f[a]] + [u_g[i][a] - l_g[i][a] for i in range(m)]) for a in range(n)]
        x = choose(t, S, M, E, w, u_f)
        safe.append(S)
        arms.append(x)
        rewards.append(f[x] + eta[t - 1])
        costs.append(g[x] + xi[t - 1])
    return arms, safe


def safeopt(K, f, g, B, G, R, T, alpha, scale, eta, xi, seed, Lip=None, dist=None, **rule):
    """x_t = argmax of w over M union E. Returns arms and the safe sets in force."""

    def choose(t, S, M, E, w, u_f):
        return first_max(w, sorted(set(M) | set(E)))

    return safe_rounds(K, f, g, B, G, R, T, alpha, scale, eta, xi, seed, Lip, dist, choose, **rule)


def stageopt(K, f, g, B, G, R, T, alpha, scale, eta, xi, seed, stage_rounds, Lip=None, dist=None, **rule):
    """In rounds t <= stage_rounds, x_t = argmax of w over E (over M if E is empty); then argmax of u_f over S.
    Returns arms and the safe sets in force.
    """

    def choose(t, S, M, E, w, u_f):
        if t <= stage_rounds:
            return first_max(w, E if E else M)
        return first_max(u_f, S)

    return safe_rounds(K, f, g, B, G, R, T, alpha, scale, eta, xi, seed, Lip, dist, choose, **rule)


def published_safe_rounds(K, f, g, B, G, R, T, alpha, scale, eta, xi, seed, stage_rounds=0):
    """SafeOpt (stage_rounds = 0) and StageOpt in the manner of their published programs, without Lipschitz constants.

    Bounds are those of the round alone. Safe arms are tried from the widest on. One expands if, for every constraint i
    by itself, refitting the GP of g_i with l_gi(x) as a further observation at x brings mu + beta sigma <= 0 at some x'
    that is not safe. SafeOpt plays the first that is a maximiser or expands; StageOpt, in its first stage, the first
    that expands, or else the widest maximiser; then argmax of u_f over the safe arms. Returns arms and the safe sets.
    """
    n, m = g.shape
    lam = 1 + 2 / T
    arms, rewards, costs, safe = [], [], [], []

    def expands(x, unsafe, l_g, beta_g):
        for i in range(m):
            y = [c[i] for c in costs] + [l_g[i][x]]
            mean, k = paper_formulas.posterior(K, [*arms, x], y, lam)
            if not any(mean[b] + beta_g[i] * math.sqrt(max(k[b, b], 0.0)) <= 0 for b in unsafe):
                return False
        return True

    for t in range(1, T + 1):
        mu_f, sigma, mu_g, beta_f, beta_g = confidence(K, arms, rewards, costs, B, G, R, lam, alpha, scale)
        l_f, u_f = mu_f - beta_f * sigma, mu_f + beta_f * sigma
        l_g = [mu_g[i] - beta_g[i] * sigma for i in range(m)]
        S = [a for a in range(n) if a in seed or all(mu_g[i][a] + beta_g[i] * sigma[a] <= 0 for i in range(m))]
        M = [a for a in S if u_f[a] >= max(l_f[b] for b in S)]
        w = [max(2 * beta * sigma[a] for beta in (beta_f, *beta_g)) for a in range(n)]
        if stage_rounds and t > stage_rounds:
            x = first_max(u_f, S)
        else:
            unsafe, remaining = [b for b in range(n) if b not in S], list(S)
            while remaining:
                x = first_max(w, remaining)
                if (x in M and not stage_rounds) or expands(x, unsafe, l_g, beta_g):
                    break
                remaining.remove(x)
            else:
                x = first_max(w, M)
        safe.append(S)
        arms.append(x)
        rewards.append(f[x] + eta[t - 1])
        costs.append(g[x] + xi[t - 1])
    return arms, safe


def sgp_ucb(K, f, g, B, G, R, T, alpha, scale, eta, xi, seed, initial_rounds, uniforms):
    """In rounds t <= initial_rounds, x_t = seed[floor(uniforms_t |seed|)], the seed in ascending order; then
    x_t = argmax u_f over {x: u_gi(x) <= 0 for every i} union seed, the bounds not intersected. Returns arms.
    """
    n, m = g.shape
    lam = 1 + 2 / T
    seed = sorted(seed)
    arms, rewards, costs = [], [], []
    for t in range(1, T + 1):
        if t <= initial_rounds:
            x = seed[math.floor(uniforms[t - 1] * len(seed))]
        else:
            mu_f, sigma, mu_g, beta_f, beta_g = confidence(K, arms, rewards, costs, B, G, R, lam, alpha, scale)
            u_f = mu_f + beta_f * sigma
            u_g = [mu_g[i] + beta_g[i] * sigma for i in range(m)]
            x = first_max(u_f, [a for a in range(n) if a in seed or all(u_g[i][a] <= 0 for i in range(m))])
        arms.append(x)
        rewards.append(f[x] + eta[t - 1])
        costs.append(g[x] + xi[t - 1])
    return arms


def time_varying_ckb(K, f, g, B, G, R, T, alpha, scale, eta, xi, every, delta):
    """x_t = argmax clip(u_f, -B, B) - sum_i phi_i clip(g_i_, -G_i, G_i), the second clip being called gbar_i;
    phi_i <- phi_i + gbar_i(x)/V_i projected on [0, rho], phi_i(1) = 0, rho = 4B/delta, V_i = G_i sqrt(T)/rho.

    After every `every` rounds the data and the gain are forgotten, and phi goes on. Returns arms and the phi before
    each update.
    """
    n, m = g.shape
    lam = 1 + 2 / T
    rho = 4 * B / delta
    V = [G[i] * math.sqrt(T) / rho for i in range(m)]
    dual = [0.0] * m
    arms, duals = [], []
    recent, rewards, costs = [], [], []
    for t in range(1, T + 1):
        f_hat, g_low, _ = optimism(K, recent, rewards, costs, B, G, R, lam, alpha, scale)
        f_bar = [min(max(v, -B), B) for v in f_hat]
        g_bar = [[min(max(v, -G[i]), G[i]) for v in g_low[i]] for i in range(m)]
        x = first_max([f_bar[a] - sum(dual[i] * g_bar[i][a] for i in range(m)) for a in range(n)])
        arms.append(x)
        duals.append(list(dual))
        for i in range(m):
            dual[i] = min(positive(dual[i] + g_bar[i][x] / V[i]), rho)
        recent.append(x)
        rewards.append(f[x] + eta[t - 1])
        costs.append(g[x] + xi[t - 1])
        if t % every == 0:
            recent, rewards, costs = [], [], []
    return arms, duals


def drawn(weights, uniform):
    """The arm at which the sum of the weights so far first exceeds a uniform number."""
    total = 0.0
    for a in range(len(weights)):
        total += weights[a]
        if uniform < total:
            return a
    return max(a for a in range(len(weights)) if weights[a] > 0)


def checked_mixture(solve, f, g):
    """The weights solve(f, g) of the arms, for f (n) and g (m of n), after checking that they solve the linear program
    max w.f with w.g_i <= 0, w >= 0, sum w = 1 or, if it is infeasible, min sum_i [w.g_i]_+ / max |g_i|.
    """
    n, m = len(f), len(g)
    w = solve(f, g)
    assert min(w) >= 0
    assert abs(sum(w) - 1) < 1e-9
    simplex = {"A_eq": [[1.0] * n], "b_eq": [1.0]}
    best = linprog([-v for v in f], A_ub=g, b_ub=[0.0] * m, **simplex)
    if best.status == 0:
        assert abs(-best.fun - sum(w[a] * f[a] for a in range(n))) < 1e-6
        assert all(sum(w[a] * g[i][a] for a in range(n)) < 1e-6 for i in range(m))
        return w
    rows = [[v / max(abs(g[i])) for v in g[i]] + [-1.0 * (i == j) for j in range(m)] for i in range(m)]
    simplex["A_eq"] = [[1.0] * n + [0.0] * m]
    least = linprog([0.0] * n + [1.0] * m, A_ub=rows, b_ub=[0.0] * m, **simplex)
    assert abs(least.fun - sum(positive(sum(w[a] * rows[i][a] for a in range(n))) for i in range(m))) < 1e-6
    return w


def opb(K, f, g, B, G, R, T, alpha, scale, eta, xi, seed, safe_cost, inflation, uniforms, solve):
    """pi_t = argmax E_pi[mu_f + inflation beta_f sigma] with E_pi[u_gi] <= 0, u_gi being safe_cost_i at the seed's
    arms; x_t is drawn from pi_t by uniforms_t. solve is checked in every round. Returns arms.
    """
    m = len(G)
    lam = 1 + 2 / T
    arms, rewards, costs = [], [], []
    for t in range(1, T + 1):
        mu_f, sigma, mu_g, beta_f, beta_g = confidence(K, arms, rewards, costs, B, G, R, lam, alpha, scale)
        u_g = [mu_g[i] + beta_g[i] * sigma for i in range(m)]
        for i in range(m):
            for a in seed:
                u_g[i][a] = safe_cost[i]
        x = drawn(checked_mixture(solve, mu_f + inflation * beta_f * sigma, u_g), uniforms[t - 1])
        arms.append(x)
        rewards.append(f[x] + eta[t - 1])
        costs.append(g[x] + xi[t - 1])
    return arms


def optimistic_lp(K, f, g, B, G, R, T, alpha, scale, eta, xi, uniforms, solve, contexts=None, round_contexts=None):
    """pi_t = argmax E_pi[f^] with E_pi[g_i_] <= 0, over the arms of the round's context if there are contexts; x_t is
    drawn from pi_t by uniforms_t. solve is checked in every round. Returns arms.
    """
    n = len(K)
    lam = 1 + 2 / T
    arms, rewards, costs = [], [], []
    for t in range(1, T + 1):
        f_hat, g_low, _ = optimism(K, arms, rewards, costs, B, G, R, lam, alpha, scale)
        allowed = [a for a in range(n) if contexts is None or contexts[a] == round_contexts[t - 1]]
        x = allowed[drawn(checked_mixture(solve, f_hat[allowed], [l_i[allowed] for l_i in g_low]), uniforms[t - 1])]
        arms.append(x)
        rewards.append(f[x] + eta[t - 1])
        costs.append(g[x] + xi[t - 1])
    return arms


def losbo(K, f, g, B, G, R, T, alpha, scale, eta, xi, seed, Lip, dist, E, rule):
    """S_t = seed and {x: for every i some s < t has c_si + E_i + Lip_i dist(x, x_s) <= 0}. rule "widest": x_t = argmax
    of the largest u - l over SafeOpt's maximisers and expanders; "ucb": argmax of u_f over S_t. Returns arms and S_t.
    """
    n, m = g.shape
    lam = 1 + 2 / T
    arms, rewards, costs, safe = [], [], [], []
    for t in range(1, T + 1):
        mu_f, sigma, mu_g, beta_f, beta_g = confidence(K, arms, rewards, costs, B, G, R, lam, alpha, scale)
        l_f, u_f = mu_f - beta_f * sigma, mu_f + beta_f * sigma
        l_g = [mu_g[i] - beta_g[i] * sigma for i in range(m)]
        past = list(zip(arms, costs, strict=True))
        S = []
        for a in range(n):
            if a in seed or all(any(c[i] + E[i] + Lip[i] * dist[a][x] <= 0 for x, c in past) for i in range(m)):
                S.append(a)
        if rule == "ucb":
            x = first_max(u_f, S)
        else:
            w = [max(2 * beta * sigma[a] for beta in (beta_f, *beta_g)) for a in range(n)]
            expanding = expanders(l_g, S, Lip, dist, mu_g, None, beta_g, lam, separately=True)
            x = first_max(w, sorted(set(maximisers(l_f, u_f, S)) | set(expanding)))
        safe.append(S)
        arms.append(x)
        rewards.append(f[x] + eta[t - 1])
        costs.append(g[x] + xi[t - 1])
    return arms, safe


def quantile(p):
    """Phi^-1(p) for p in [1/2, 1), by bisection."""
    low, high = 0.0, 10.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - normal_cdf(-middle) < p else (low, middle)
    return low


def safe_bocp(K, f, g, B, G, R, T, alpha, scale, eta, xi, seed, rate, step, separately=True):
    """Cost i has width beta_i = Phi^-1((1 + d_i)/2), d_i being delta_i cut to [0, 1 - 1e-6]. S_t = seed and
    {x: u_gi(x) <= 0 for every i}, the seed alone if some delta_i >= 1. x_t = argmax of the largest u - l over SafeOpt's
    maximisers and expanders. delta_i <- delta_i + step (1{c_i > 0} - rate_i), delta_i(1) = 1 - rate_i.
    Returns arms, S_1..S_T and the delta before each update.
    """
    n, m = g.shape
    lam = 1 + 2 / T
    delta = [1 - rate[i] for i in range(m)]
    arms, rewards, costs, safe, deltas = [], [], [], [], []
    for t in range(1, T + 1):
        mu_f, sigma, mu_g, beta_f, _ = confidence(K, arms, rewards, costs, B, G, R, lam, alpha, scale)
        _, k, _ = posteriors(K, arms, rewards, costs, m, lam)
        beta_g = [quantile((1 + min(max(d, 0.0), 1 - 1e-6)) / 2) for d in delta]
        l_g = [mu_g[i] - beta_g[i] * sigma for i in range(m)]
        u_g = [mu_g[i] + beta_g[i] * sigma for i in range(m)]
        S = sorted(seed) if max(delta) >= 1 else safe_set(u_g, None, seed, None, None)
        M = maximisers(mu_f - beta_f * sigma, mu_f + beta_f * sigma, S)
        E = expanders(l_g, S, None, None, mu_g, k, beta_g, lam, separately)
        w = [max(2 * beta * sigma[a] for beta in (beta_f, *beta_g)) for a in range(n)]
        x = first_max(w, sorted(set(M) | set(E)))
        c = g[x] + xi[t - 1]
        deltas.append(list(delta))
        for i in range(m):
            delta[i] = delta[i] + step * ((1 if c[i] > 0 else 0) - rate[i])
        safe.append(S)
        arms.append(x)
        rewards.append(f[x] + eta[t - 1])
        costs.append(c)
    return arms, safe, deltas


def ucb_d(K, f, g, B, G, R, T, alpha, scale, eta, xi):
    """x_t = argmax f^ over {x: g_i_(x) <= 0 for all i}, or argmin sum_i [g_i_]_+. One output is observed: if the set
    was not empty, that with the largest of u_f - l_f, u_g1, .., u_gm at x_t, otherwise that with the largest g_i_(x_t).
    The recommended arm is the x_t with the least largest gap, among rounds in which the set was not empty.
    Returns arms, the output observed in each round, and the arm recommended after it.
    """
    n, m = g.shape
    lam = 1 + 2 / T
    played, values = [[] for _ in range(1 + m)], [[] for _ in range(1 + m)]  # of each output
    arms, asked, recommended, least, best = [], [], [], math.inf, 0
    for t in range(1, T + 1):
        low, up = [], []
        for i in range(1 + m):
            mu, k, _ = posteriors(K, played[i], values[i], [], 0, lam)
            gain = paper_formulas.information_gain(K, played[i], lam)
            root = math.sqrt(2 * (gain + 1 + math.log((m + 1) / alpha)))
            half = scale * ((B if i == 0 else G[i - 1]) + R * root) * deviations(k)
            low.append(mu - half)
            up.append(mu + half)
        feasible = [a for a in range(n) if all(low[i][a] <= 0 for i in range(1, 1 + m))]
        if feasible:
            x = first_max(up[0], feasible)
            gaps = [up[0][x] - low[0][x], *(up[i][x] for i in range(1, 1 + m))]
            if max(gaps) < least:
                least, best = max(gaps), x
        else:
            x = first_min([sum(positive(low[i][a]) for i in range(1, 1 + m)) for a in range(n)])
            gaps = [-math.inf, *(low[i][x] for i in range(1, 1 + m))]
        output = gaps.index(max(gaps))
        played[output].append(x)
        values[output].append(f[x] + eta[t - 1] if output == 0 else g[x][output - 1] + xi[t - 1][output - 1])
        arms.append(x)
        asked.append(output)
        recommended.append(best)
    return arms, asked, recommended
