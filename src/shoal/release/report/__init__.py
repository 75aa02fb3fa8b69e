"""The report: the aggregates and facts that it shows, and the page."""
