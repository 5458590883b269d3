"""Update samples: histograms of gradients and pushed updates, layer by layer, each with the staleness of its push."""
