"""`gradstream sim`: its options, the plan that they make, and its text output."""
