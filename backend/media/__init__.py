"""Media that user code logs: stored as processes send them, listed by name, and given one by one."""
