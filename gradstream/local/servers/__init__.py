"""Embedded servers and other child processes: Postgres, Redis, and the ports that they take."""
