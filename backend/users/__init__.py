"""Accounts, and who sends a request."""
