"""Engines for tables that do not fit into memory: the plan of cuts, streams, and Spark.

To add a format that is read in pieces, write a subclass of `Batches` and name it in `sources`. To add an engine, write
what carries out a job and name it in `pipeline`; groups must not depend on memory, threads or machines.
"""
