"""The platform's data on disk: its size, and the removal of unused data."""
