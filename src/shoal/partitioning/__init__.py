"""Methods that partition records into groups of at least k, refinements, the search, and enforcement of demands.

The package is named `partitioning` because :func:`shoal.partition` is the function that uses it.

To add a method, write one function, its oracle in ``tests/naive.py`` and one entry of the registry: estimator, command
line, documentation, tests and benchmarks follow from that entry.
"""
