"""The examples that a worker trains on: a share of the data by position (`data`), from map-style (`shuffled`) or iterable data sets
(`streamed`), fetched ahead (`prefetch`, `fetchers`)."""
