"""Many trials of a policy on a problem: on NumPy or JAX, on this machine or on a cluster."""
