"""Where actions come from when they are not a list, and how a function is maximised there."""
