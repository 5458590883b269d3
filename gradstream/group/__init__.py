"""Groups: several processes that are one worker together.

To the center, the gate and a checkpoint, a group is one process: its lead, which has the other peers of its machine as children.
`gradstream.group.machines` has groups over several machines.
"""
