"""A Redis stream as a source of examples: connection, numbers of entries, and the data set that users make."""
