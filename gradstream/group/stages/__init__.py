"""Pipeline parallelism: the processes of a group each compute some blocks of the model, and micro-batches pass through all.

bounds    which blocks each stage has
stage     the model in one process: it skips the blocks of other stages
pipeline  forwards and backwards of micro-batches, and their way between stages
homes     the stage that each parameter and each buffer belongs to
"""
