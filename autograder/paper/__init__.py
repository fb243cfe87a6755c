"""Assignments on paper: the sheet that students write on, and the one that graders read."""

from autograder.paper.engine import print_pdf
from autograder.paper.sheet import Sheet, make_sheet, render

__all__ = ["Sheet", "make_sheet", "print_pdf", "render"]
