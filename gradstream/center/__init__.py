"""The shard machine: it applies the ordered log of a job to one parameter server.

Pure: no clock, no I/O, no randomness. The same entries in the same order give the same responses on every shard, whatever
drives the machine: `ps_node` over Redis, or `gradstream.sim` in virtual time.
"""
