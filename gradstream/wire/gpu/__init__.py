"""Memory that a GPU and several processes of its host reach."""
