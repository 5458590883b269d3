"""A Kafka topic as a source of examples: connection, pieces of partitions, their order, and the data set that users make."""
