"""New assignments from templates: one file for each kind of question in ``kinds/``."""

from autograder.authoring.new_assignment import NewAssignment, list_kinds, start_assignment

__all__ = ["NewAssignment", "list_kinds", "start_assignment"]
