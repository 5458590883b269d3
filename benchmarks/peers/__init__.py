"""Gradstream and other systems, side by side: see `__main__`, and docs/guides/benchmarks.md.

What a system's process imports (`work`, `counter`, `system` and its own file) needs numpy and that system only, as each may run in
an environment of its own.
"""
