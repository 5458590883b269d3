"""Commands about machines: list, join, drain, resume and remove nodes."""
