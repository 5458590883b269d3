"""Following a job until it ends: what it prints, waits for, and does at Ctrl-C."""
