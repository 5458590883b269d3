"""The output of processes."""
