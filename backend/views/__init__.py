"""Saved views of pages, kept for each user and shared by link."""
