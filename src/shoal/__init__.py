"""Shoal: k-anonymous microaggregation, complete, exact and fast."""

__version__ = "0.1.0"
