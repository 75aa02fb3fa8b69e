"""Privacy models, and the audit that checks them on the published table alone.

To add a model, write a class with its measure and its explanation, and register it in `models`. For a search that keeps
the model, also add a rule to `shoal.kernels.rules`. Nothing here may import code that forms groups.
"""
