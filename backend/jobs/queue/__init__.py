"""The queue: the jobs that wait, in their order, and the jobs that hold machines."""
