"""The report: aggregates that may be shown, what is said about a release, and the page."""
