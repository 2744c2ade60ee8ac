"""One array vocabulary for NumPy and JAX, and randomness as a function of (seed, trial, round)."""
