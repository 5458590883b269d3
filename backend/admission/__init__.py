"""Admission of requests: bounds on how much, how fast and how often a caller sends, decided before a request is parsed."""
