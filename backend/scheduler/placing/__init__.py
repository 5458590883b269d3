"""Placement: which processes run on which machine, and whose turn it is."""
