"""The part of a server in checkpoints: its state, and the rows of its tables."""
