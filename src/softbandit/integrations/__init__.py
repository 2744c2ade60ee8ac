"""Adapters to other libraries, one file each, which needs that library installed."""
