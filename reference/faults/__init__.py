"""Mutation operators: right listings, and the faults that can be planted in them, as data."""
