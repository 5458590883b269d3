"""Jobs without servers, on one host: each worker also holds the shard of its rank. All vectors lie in shared memory, and workers
take turns in which every shard handles the entries of all. See `gradstream.serverless.port`; and `gradstream.serverless.holder` for
jobs that go on when a worker is lost."""
