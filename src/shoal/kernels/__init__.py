"""Compiled loops over plain arrays: exact sums, the index and its searches, growing groups, the search for low loss.

Importing a module of this package does not load numba yet; the first call of a kernel does.

To add a kernel, write a function of plain arrays with a decorator of `shoal.kernels.jit`, and test it against a plain
loop in NumPy. Look for one that exists first: each costs time to compile on the first run.
"""
