"""Jobs without servers that go on when a worker is lost: worker 0 holds the one shard, and the others exchange vectors and messages
with it through shared memory. See `gradstream.serverless.holder.port`."""
