"""Asymptotic answers: how formulas grow, read and compared."""
