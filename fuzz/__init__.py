"""The fuzzer: random tables and plans, each release checked by plain code that shares nothing with Shoal.

``python -m fuzz --seconds 60`` runs it, ``python -m fuzz --replay SEED|FILE`` repeats one input.
"""
