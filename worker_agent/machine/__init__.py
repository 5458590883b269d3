"""This machine: its GPUs, and the usage of its processes."""
