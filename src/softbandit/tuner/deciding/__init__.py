"""Learning from a tuner's log, and deciding what to try next."""
