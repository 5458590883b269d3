"""The cost of a worker that is a group, and the choice of its shape."""
