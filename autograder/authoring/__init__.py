"""New assignments from templates: one file for each kind of question in ``kinds/``."""

from autograder.authoring.starting import NewAssignment, start_assignment
from autograder.authoring.templates import list_kinds

__all__ = ["NewAssignment", "list_kinds", "start_assignment"]
