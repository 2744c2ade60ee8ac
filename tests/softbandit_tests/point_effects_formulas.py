"""The model with effects of points, written out: one row per observation, and no observation put together with another.

It never imports softbandit.
"""

import numpy as np


def covariance(model, X, places, Z=None, others=None):
    """Return the covariance of the functions at X and Z (by default X): `places` says which rows are one point."""
    Z, others = (X, places) if Z is None else (Z, others)
    C = np.empty((len(X), len(Z)))
    for i in range(len(X)):
        for j in range(len(Z)):
            same = places[i] == others[j]
            C[i, j] = model.signal * float(model.kernel(X[i : i + 1], Z[j : j + 1])[0, 0]) + model.own * same
    return C


def moments(model, X, places, y, Z, others):
    """Return the posterior mean and variance at Z, from observations y at X."""
    A = np.linalg.inv(covariance(model, X, places) + model.noise * np.eye(len(X)))
    cross = covariance(model, X, places, Z, others)
    prior = np.diag(covariance(model, Z, others))
    mean = model.offset + cross.T @ A @ (y - model.offset)
    return mean, prior - np.einsum("tn,tu,un->n", cross, A, cross)


def log_density(model, X, places, y):
    """Return ln p(y) of all observations together."""
    C = covariance(model, X, places) + model.noise * np.eye(len(X))
    rest = y - model.offset
    return -0.5 * (rest @ np.linalg.solve(C, rest) + np.linalg.slogdet(C)[1] + len(y) * np.log(2 * np.pi))
