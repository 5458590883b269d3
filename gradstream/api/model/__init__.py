"""Responses about the model of a job: its parameters, and what updates do to its layers."""
