"""Methods that partition records into groups of at least k, refinements, the search, and enforcement of demands.

The package is named `partitioning` because :func:`shoal.partition` is the function that uses it.

To add a method, write a function, its oracle in ``tests/naive.py`` and an entry of the registry. The estimator, the
command line, the documentation, the tests and the benchmarks follow from that entry.
"""
