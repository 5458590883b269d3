"""Machines: who they are, what runs there, and what should."""
