"""Stragglers of a job: which workers are slow, since when, why, what they cost, and what would help."""
