"""Measures of a release: losses, utility, and bounds on the loss."""
