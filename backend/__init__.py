"""The control plane: REST API, controller, and what they keep in Postgres. A folder for each feature, with the same file names."""
