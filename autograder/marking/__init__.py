"""Basics of manual grading: points of items, groups of answers, agreement of graders, statistics."""
