"""Summaries of tables for people: the hottest rows, and how scores and ages are spread."""
