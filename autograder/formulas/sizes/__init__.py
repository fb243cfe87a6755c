"""Shapes and whole numbers."""
