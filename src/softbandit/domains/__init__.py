"""Domains of actions that are not a list, and how a function is maximised there."""
