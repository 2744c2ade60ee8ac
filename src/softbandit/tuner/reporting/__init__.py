"""Reports on a tuner: status in words, figures, tables."""
