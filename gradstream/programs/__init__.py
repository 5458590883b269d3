"""Shared parts of the platform's own programs: the broker of Celery, names of tasks, logs."""
