"""One key of an embedding table, looked up in stored files: those of an export, and those of a checkpoint. The control plane reads
them piece by piece, without torch and numba."""
