"""Marking in the service: the queue of waiting answers, the marks that people give, and undo."""
