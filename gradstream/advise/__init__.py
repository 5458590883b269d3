"""What can be said about a job before it runs: exact limits, warnings, and an advice from a few measured mini-batches."""
