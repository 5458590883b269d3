"""Server-sent events: everything about a job, in the order in which it happened."""
