"""A small project that runs as it stands. `gradstream init` writes these files under the names that a user wants."""
