"""Gaussian-process posteriors, as values that conditioning replaces by new ones."""
