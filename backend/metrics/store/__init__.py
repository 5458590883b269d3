"""Storage of points: batches as they came, and blocks with summaries made from them."""
