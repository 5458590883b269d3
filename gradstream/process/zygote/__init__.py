"""The zygote, which forks job processes: its two sides (`forkserver`, `zygote`), and the start of programs that die with it."""
