"""Assignments on paper: the sheet for students, and the one with solutions for graders."""

from autograder.pages.paper.engine import print_pdf
from autograder.pages.paper.sheet import Sheet, make_sheet, render_sheet

__all__ = ["Sheet", "make_sheet", "print_pdf", "render_sheet"]
