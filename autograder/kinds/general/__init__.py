"""Kinds that are independent of the subject: formulas, numbers, shapes, tables, code, text."""
