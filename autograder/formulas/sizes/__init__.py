"""Shapes, and whole numbers."""
