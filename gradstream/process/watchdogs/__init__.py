"""Threads that look at user code which does not return: at the `start` of a process they warn, in a `step` they end it."""
