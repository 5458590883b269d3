"""One shard of the center: reads the ordered log of its job, keeps its slice, answers the workers."""
