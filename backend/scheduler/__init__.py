"""The controller: `queue` places jobs, `decide` says what comes next in a job's life, `steps` does it."""
