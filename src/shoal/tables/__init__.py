"""From columns with names, types and gaps to coordinates, and back to columns.

To add a type of attribute, add it to ``Kind`` in `shoal.plan`, and say how it is read (`columns`), embedded
(`embedding`) and represented (`representatives`).
"""
