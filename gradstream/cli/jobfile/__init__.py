"""Commands that write, check and train a job file, on a platform or on this machine."""
