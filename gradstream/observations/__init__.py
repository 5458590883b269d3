"""Predictions and labels that a workload observes: their histograms (`histograms`) and the figures of these (`figures`).

User code adds to them through `recording`. `sliding` has those of the last examples, `pushes` those that come with pushes.
"""
