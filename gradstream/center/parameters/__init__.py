"""The parameters of a shard: its slice of the center, its buffers, and the updates that change them."""
