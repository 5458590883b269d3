"""Values that user code logs with `Workload.log`: their names (`names`) and their means between two reports (`scalars`)."""
