"""Grading: what is expected, who sat which paper, one student from notebook to marks, and a whole class."""
