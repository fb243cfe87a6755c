"""Runs student code where it can reach nothing, and brings back observations."""
