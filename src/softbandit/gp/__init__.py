"""Gaussian-process regression, which knows nothing of bandits."""
