"""Differentially private releases in the product: from a plan with `dp` to a table with its documents."""
