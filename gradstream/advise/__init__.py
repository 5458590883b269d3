"""Statements about a job before it runs: exact limits, warnings, and advice from a few measured mini-batches."""
