"""Embedding tables: rows that are found by 64-bit keys, each with the state of its rule. Pure: flat arrays and compiled kernels.

| file | what |
|---|---|
| `table` | lookups, pushes, shrinks: all that a shard does with one table |
| `hashing`, `index` | the bucket of a key; the place of its row |
| `rows` | weights, state and columns of all rows, by place |
| `rules` | the step of a row, a function per formula |
| `push`, `keep` | admission and the outcome of a key; decay and eviction |
| `contents` | all rows in order, for files and for tables of other shards |
"""
