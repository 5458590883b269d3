"""The gradient plane on Redis: every key, every message, the transports, the one client factory."""
