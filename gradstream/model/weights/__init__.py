"""The weights that a model begins with: of another job, of a checkpoint, or of files."""
