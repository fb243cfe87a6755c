"""New assignments from templates: one file for each kind of question in ``kinds/``."""

from autograder.authoring.starting import Started, start
from autograder.authoring.templates import known_kinds

__all__ = ["Started", "known_kinds", "start"]
