"""Marking in the service: which answers wait, what people give them, and what can be undone."""
