"""User code, as it was uploaded."""
