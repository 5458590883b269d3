"""Threads that send what a process logs or measures into the store, while it trains on."""
