"""Files of attempts: cuts, and what a job leaves to its user."""
