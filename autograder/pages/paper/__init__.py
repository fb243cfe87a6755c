"""Assignments on paper."""
