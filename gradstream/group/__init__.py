"""Groups: several processes of one machine that are one worker together.

To the center, the gate, the scheduler and a checkpoint, a group is one process: its lead, which has the other peers as children.
"""
