"""How a model computes: the dtype of its forward, its loss scale, and what it computes again in backward."""
