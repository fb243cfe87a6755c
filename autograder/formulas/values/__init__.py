"""Evaluate formulas: exactly, as balls, and at random points."""
