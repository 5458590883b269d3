"""Mini-batches dealt on demand: their numbers (`grants`), and who has which (`dealer`)."""
