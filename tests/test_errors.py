"""Messages to staff about errors."""

from __future__ import annotations

import json

import pytest

from autograder.core.errors import CourseError, describe_error
from autograder.notebook.document import prune_json


class Textless(Exception):
    """An exception that cannot be converted to text."""

    def __str__(self) -> str:
        raise ValueError


def raised(error: Exception) -> Exception:
    """Return the same error with a traceback."""
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


def test_a_foreseen_error_speaks_for_itself() -> None:
    """The text of an expected error is shown without type and place."""
    assert "roster.csv: line 3: no id" == describe_error(raised(CourseError("roster.csv: line 3: no id")))


def test_another_is_told_with_type_text_and_place() -> None:
    """Other errors are described by type, text and place for a report."""
    assert describe_error(raised(KeyError("a"))).startswith("KeyError: 'a' (in tests.test_errors, line ")
    assert "RuntimeError" == describe_error(RuntimeError())
    assert describe_error(raised(Textless())).startswith("Textless: (its text cannot be read) (in ")


def test_the_place_is_ours_where_there_is_one() -> None:
    """The place is in our code if possible, not deep inside a library."""

    class Odd(dict[str, object]):
        def items(self) -> object:  # type: ignore[override]
            return json.loads("{")

    with pytest.raises(ValueError, match="Expecting") as caught:
        prune_json(Odd())
    assert "JSONDecodeError: " in describe_error(caught.value)
    assert "(in autograder.notebook.document, line " in describe_error(caught.value)


@pytest.mark.parametrize("text", ["a\nb", "a\x1b[2Jb", "a\u202eb", "x" * 10_000])
def test_it_is_one_line_that_does_nothing(text: str) -> None:
    """The description is short and contains no control characters, even if it quotes student text."""
    line = describe_error(ValueError(text))
    assert line.isprintable()
    assert len(line) < 400
