"""The page a student gets back, and the staff's page of a run."""

from autograder.feedback.render import render
from autograder.feedback.summary import render_summary

__all__ = ["render", "render_summary"]
