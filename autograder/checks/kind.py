"""A kind of question: everything the rest of the program knows about it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

Form = Literal["", "formula", "number", "shape", "choice", "table", "code", "listing", "written"]
"""How an answer looks, on paper and to the check that students run; empty: nothing is said of it.

Formulas, numbers, shapes and choices are written into blanks; a table has a grid;
``code`` is a function or class of the student's, a ``listing`` code that was handed out to be repaired;
``written`` is a text for a person.
"""


class Kind(Struct, frozen=True):
    """One kind, as its folder registers it: an entry of the group ``autograder.kinds`` names such a record.

    Beside the module of the check lie ``template.md``, the question that ``autograder new`` makes,
    ``reference.md``, the kind's section of the reference, and ``sentences.py``, what it tells students.
    """

    check: type[Any]
    """See `autograder.checks.base.Check`; its ``kind`` is the name that rubrics write."""
    form: Form = ""
    aliases: tuple[str, ...] = ()
    """Words that ``autograder new`` takes for the name, and for which a rubric's error suggests it."""

    @property
    def name(self) -> str:
        """What rubrics write."""
        return str(self.check.kind)

    @property
    def folder(self) -> Path:
        """Where the kind's files lie."""
        return Path(str(sys.modules[self.check.__module__].__file__)).parent
