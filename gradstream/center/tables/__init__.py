"""Embedding tables: rows that are found by 64-bit keys, each with the state of its rule. Pure: flat arrays and compiled kernels.

| file | what |
|---|---|
| `table` | lookups, pushes, shrinks: all that a shard does with one table |
| `hashing`, `index` | the bucket of a key; the place of its row |
| `rows` | weights, state and columns of all rows, by place |
| `cold` | rows of a table that is bounded in memory, on the disk |
| `rules` | the step of a row, a function per formula |
| `push`, `keep` | admission and the outcome of a key; decay and eviction |
| `hosted` | all tables of a model at one shard: pushes that count alone, and rounds |
| `payload` | rows on their way: keys of a lookup, what it found, gradients of a push |
| `trained` | the files of weights that a job leaves |
| `compiling`, `kernel_cache` | machine code of the kernels, and the folder where it is kept |
| `summaries` | the hottest rows, and how scores and ages are spread |
| `contents` | all rows in order, for files and for tables of other shards |
"""
