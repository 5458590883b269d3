"""Several jobs beside each other: when each reached what was asked for, and what it cost."""
