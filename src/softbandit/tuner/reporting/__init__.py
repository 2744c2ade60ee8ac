"""Where a tuner stands: status in words, figures, tables."""
