"""Runs of several policies side by side, and the figures and tables made of them."""
