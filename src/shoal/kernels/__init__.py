"""Compiled kernels: plain arrays in, plain arrays out.

Importing a module of this package loads numba; nothing that `import shoal` touches may do so.
"""
