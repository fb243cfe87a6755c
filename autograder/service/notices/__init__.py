"""Notifications: events are recorded with the change that causes them, and delivered by a worker."""
