"""Runs of several policies side by side, and their figures, tables and reports."""
