"""Vectors and messages on their way: their layout, the inline transport through Redis (`remote`), and shared memory with pipes."""
