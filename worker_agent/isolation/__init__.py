"""The agent's side of sandboxes: what each job process sees, and its door to the data plane and the API."""
