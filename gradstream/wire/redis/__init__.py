"""Redis for the hot path: connections, commands, entries with large fields, keys, and which instance holds what."""
