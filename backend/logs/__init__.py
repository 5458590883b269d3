"""What processes print."""
