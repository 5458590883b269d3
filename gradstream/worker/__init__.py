"""The programs of a worker (`__main__`) and of the evaluator (`evaluator`), their setup, and their records beside the training."""
