"""Kinds that know nothing of a subject: formulas, numbers, shapes, tables, code, text."""
