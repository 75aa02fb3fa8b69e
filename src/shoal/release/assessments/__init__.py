"""Assessments of releases: what an intruder can still do, and what an analyst can.

`tables` matches rows and reads columns alike, `risks` and `utilities` ask the questions, `assessment` has the answers.
"""
