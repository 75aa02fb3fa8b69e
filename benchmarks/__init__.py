"""Benchmarks: loss against the published tables; speed, growth and memory against the plain methods."""
