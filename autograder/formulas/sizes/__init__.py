"""Tuples of sizes, and numbers with units."""
