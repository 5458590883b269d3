"""Charts and distributions: few numbers that show all points of a range."""
