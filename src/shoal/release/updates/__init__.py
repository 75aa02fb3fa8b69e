"""Updates: new records join an earlier release, whose rows stay as they are."""
