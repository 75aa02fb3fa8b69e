"""Verified releases from plans: preparation, grouping, publishing, the audit, the files and the report.

To add a step, add it to the run; to show something in the report, add it to its facts and its template. Only the
evidence of the report may look at original values.
"""
