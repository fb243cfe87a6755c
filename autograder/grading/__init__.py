"""Grading: expected values, each student's variant, one student from notebook to marks, a whole class."""
