"""Plans of jobs before they are submitted."""
