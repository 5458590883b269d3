"""Files of attempts: checkpoints, and what a job leaves to its user."""
