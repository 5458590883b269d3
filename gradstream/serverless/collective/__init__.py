"""Jobs without servers whose workers may be on several machines: each holds the whole center, and one allreduce brings all of
them the mean of the pushes. See `gradstream.serverless.collective.port`."""
