"""The shard machine: what one parameter server does with the ordered log of its job.

Pure: no clock, no I/O, no randomness. The same entries in the same order give the same answers on every shard, whatever
drives the machine: `ps_node` over Redis, or `gradstream.sim` in virtual time.
"""
