"""HTTP for all features: errors as problems, cursors of lists, large bodies, headers for browsers, and the built page."""
