"""Fully sharded data parallelism: peers compute parts of each mini-batch, and share out the memory that the model takes.

Theta and the gradient lie in memory once for the group, and peers read and write them there: nothing is gathered, and nothing is
kept twice. Each peer keeps the optimizer's state of its own part of theta, and steps on that part.

buckets    peers add to one gradient, bucket by bucket, while backward runs
sum_turn   peers that are several processes along tensor add to one gradient, one after the other
optimizer  the optimizer in parts

Source: Zhao et al. 2023, "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel"; Rajbhandari et al. 2020, "ZeRO".
"""
