"""From a plan to a verified release: the run, the manifest, the report."""
