"""What a tuner has learned from its log, and what it suggests."""
