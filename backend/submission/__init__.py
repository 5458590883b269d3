"""From a job file to a job in the queue: its body in JSON or YAML, its checks, and the weights that it starts from."""
