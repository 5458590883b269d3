"""One worker of a job, or its evaluator: runs user code beside the center, over the same plane that `ps_node` serves."""
