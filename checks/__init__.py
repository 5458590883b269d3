"""Checks of `make check` that no linter from elsewhere has: the prose that users read, and the sizes of Python files."""
