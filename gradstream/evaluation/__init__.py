"""Scores of a model on the evaluation split (`scoring`), their judgement (`judge`), and the best model so far (`best`)."""
