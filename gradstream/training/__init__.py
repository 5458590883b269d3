"""One worker's training, over any transport: its loop (`loop`), `w` and `ps` of a strategy (`replica`, `link`), what `w` is made of
(`worker_model`, `batch_count`, `sample_count`), and what it trains (`problem`). Pure: the simulator runs the same code."""
