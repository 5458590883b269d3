"""Cold rows: the weights of rows that were not used lately lie in a file, when their table is bounded in memory.

| file | what |
|---|---|
| `frames` | where the weights of each row lie: a frame of memory, or a record of the file |
| `records` | records of the file: written by segments, read one by one, with a checksum each |
| `tier` | which rows go out, and what happens when the disk fails |
"""
