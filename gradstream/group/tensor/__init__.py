"""Tensor parallelism: the processes of a group compute each mini-batch together, the inside of its linear layers in part.

plan         which modules are split, and how
linear       a split linear layer, and its exchanges: the operators f and g of Megatron-LM
exchange     tensors from each process to all, through memory that they share
split_model  the model in one process: its pieces of the parameters, and their gradients
step         one mini-batch in one process, and what all processes must find alike
"""
