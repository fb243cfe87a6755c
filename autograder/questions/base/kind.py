"""The description of a question kind that the rest of the program uses."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

Form = Literal["", "formula", "number", "shape", "choice", "table", "code", "listing", "written"]
"""The form of an answer, on paper and in the check that students run; empty: unspecified.

Formulas, numbers, shapes and choices are written into blanks; a table has a grid; ``code`` is a function or
class of the student's, a ``listing`` released code that the student repairs; ``written`` is a text that is
graded manually.
"""


class Kind(Struct, frozen=True):
    """One kind, as its folder registers it: an entry point in ``autograder.questions`` names it.

    In the same folder as the module of the check are ``template.md``, the question that ``autograder new``
    makes, ``reference.md``, the kind's section of the reference, and ``sentences.py``, its messages to
    students.
    """

    check: type[Any]
    """See `autograder.questions.base.base.Check`; its ``kind`` is the name that rubrics use."""
    form: Form = ""

    @property
    def name(self) -> str:
        """The name in rubrics."""
        return str(self.check.kind)

    @property
    def folder(self) -> Path:
        """The folder of the kind's files."""
        return Path(str(sys.modules[self.check.__module__].__file__)).parent
