"""Optimizers: which one (`spec`), and how it acts on a flat vector (`flat`)."""
