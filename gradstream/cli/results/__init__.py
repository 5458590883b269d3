"""Commands that print or download the output of jobs: logs, metrics, events, files."""
