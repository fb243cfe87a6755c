"""A source is released in one language or in all languages."""

from __future__ import annotations

import pytest

from autograder.core.errors import NotebookError
from autograder.notebook.language import select_language

LANGUAGES = ("en", "de")
CELL = """### (a) One matrix

How many?

<!-- de -->
### (a) Eine Matrix

Wie viele?

<!-- all -->
$$W_q$$"""


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        ("en", "### (a) One matrix\n\nHow many?\n\n$$W_q$$"),
        ("de", "### (a) Eine Matrix\n\nWie viele?\n\n$$W_q$$"),
        ("", CELL),
    ],
)
def test_a_release_shows_one_language_or_all(wanted: str, shown: str) -> None:
    """The release contains the chosen language of a translated passage, or all of them."""
    assert shown == select_language(CELL, LANGUAGES, wanted, "here")


@pytest.mark.parametrize("wanted", ["", "en", "de"])
@pytest.mark.parametrize(
    "cell",
    [
        "",
        "# For all\n\ntext  \n",
        "a <!-- de --> b",
        "```\n<!-- de -->\n```",
        "<!-- a remark -->\n",
        "<!-- -->",
    ],
)
def test_what_has_no_marks_stays_as_it_is(cell: str, wanted: str) -> None:
    """Other comments, and markers within a line or a listing, are text."""
    assert cell == select_language(cell, LANGUAGES, wanted, "here")


def test_text_before_a_mark_of_the_first_language_is_for_all() -> None:
    """A title in both languages can precede two translations."""
    cell = "# Exam\n<!-- en -->\nRead\n<!-- de -->\nLesen\n<!-- en -->\nWrite\n<!-- de -->\nSchreiben"
    assert "# Exam\n\nLesen\n\nSchreiben" == select_language(cell, LANGUAGES, "de", "here")
    assert "# Exam\n\nRead\n\nWrite" == select_language(cell, LANGUAGES, "en", "here")


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("One\n<!-- fr -->\nUn", "<!-- fr -->: expected one of en, de, all"),
        ("<!-- en -->\nOne\n<!-- all -->\nx", "expected it once in each of en, de; got en"),
        ("<!-- de -->\nEins\n<!-- de -->\nZwei", "got en, de, de"),
        ("x\n<!-- all -->\ny\n<!-- de -->\nz", "got de"),
    ],
)
def test_a_passage_that_is_not_translated_is_named(cell: str, said: str) -> None:
    """A passage without a translation raises an error at release."""
    with pytest.raises(NotebookError) as caught:
        select_language(cell, LANGUAGES, "de", "notebook 'x', cell 3")
    assert "language" == caught.value.code
    assert str(caught.value).startswith("notebook 'x', cell 3: ")
    assert said in str(caught.value)
