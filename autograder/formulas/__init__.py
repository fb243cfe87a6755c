"""Formulas: read, compared exactly, typeset, and diagnosed; no evaluation of student text."""
