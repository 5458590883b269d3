"""The identity of nodes: how machines join, and their accounts on the live Redis."""
