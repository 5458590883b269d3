"""A whole platform, or one job, on this machine: embedded servers, and programs that die with whoever started them."""
