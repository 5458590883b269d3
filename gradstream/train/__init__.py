"""One worker's training, over any transport: its loop (`loop`), `w` and `ps` of a strategy (`replica`, `link`), and what it trains
(`problem`). Pure: the simulator runs the same code."""
