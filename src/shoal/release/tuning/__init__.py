"""Asks for a risk instead of a k: figures by name, what is wanted of them, and the search for a plan that has them.

To add a figure, add a row to the registry of yardsticks; it may then be wanted, minimised, and drawn by `compare`.
"""
