"""The worker process: the model as one flat vector (`model`, `replica`), its data (`data`), its way to the center
(`link`), and the loop that lets a strategy use them. The simulator runs the same replica, link and loop."""
