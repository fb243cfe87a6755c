"""The kind ``table``: rows by name, whose cells are numbers, shapes and choices."""

from __future__ import annotations

from typing import ClassVar

from autograder.checks.kind import Kind
from autograder.checks.tabular import TableQuestion, TabularCheck
from autograder.kinds import check_of


class TableCheck(TabularCheck[TableQuestion]):
    """A table whose columns are of other kinds."""

    kind: ClassVar[str] = "table"
    question_type = TableQuestion
    check_of = staticmethod(check_of)


KIND = Kind(TableCheck, form="table")
