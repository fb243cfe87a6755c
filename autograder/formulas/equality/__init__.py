"""Decide whether two formulas, equations or inequalities are equivalent."""
