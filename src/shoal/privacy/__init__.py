"""Models of privacy, and the audit that checks them on the published table alone.

To add a model, write one class with its measure and its explanation, and register it in `models`; for a search that
keeps it, also a rule in `shoal.kernels.rules`. Nothing here may import what makes groups.
"""
