"""Exam and grading system for Jupyter notebooks."""
