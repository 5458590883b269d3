"""Files that processes store: content as streams, the state of a process as one file, its part of a checkpoint."""
