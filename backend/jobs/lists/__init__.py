"""Lists of jobs: filtered, ordered, in pages, and changed together."""
