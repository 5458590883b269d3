"""The user's model as one flat vector (`flat_model`), with its buffers, its parts, its ensemble, and the weights it starts from."""
