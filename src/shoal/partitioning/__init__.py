"""Partitions of records into groups of at least k: one function a method, found through the registry.

The package is named `partitioning` because :func:`shoal.partition` is the function that uses it.
"""
