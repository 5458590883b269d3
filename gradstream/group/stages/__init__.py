"""Pipeline parallelism: the processes of a group each compute some blocks of the model, and micro-batches pass through all.

bounds    which blocks each stage has
stage     the model in one process: it skips the blocks of other stages
pipeline  forwards and backwards of micro-batches, and their way between stages
problem   the lead and its peers
fsdp      pipelines that add to one gradient, part by part, and share out the optimizer
tensor    stages that several processes compute, each the inside of its linear layers in part
"""
