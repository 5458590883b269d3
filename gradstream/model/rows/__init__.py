"""Rows of embedding tables that a process reads, and the gradients that it gives back."""
