"""Metrics on their way from a job process to the control plane."""
