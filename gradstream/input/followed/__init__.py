"""The mini-batches of data that grows while a job learns from it: a folder of files, a Redis stream, a Kafka topic."""
