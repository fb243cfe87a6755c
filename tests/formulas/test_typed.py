"""Test formulas as students type them: each is read, ambiguous, or rejected with a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec import Struct

from autograder.core.wording import has_decimal_comma
from autograder.formulas.answer_parser import read_text
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Unreadable
from autograder.formulas.nodes import Relation, Tree, Tuple
from autograder.formulas.notation.landau import get_body, get_sign
from autograder.formulas.notation.parse import parse_canonical
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.values.points import Points
from autograder.messages import list_languages, render_message
from autograder.messages.parse_errors import describe_unreadable
from autograder.notebook.student.report import ReadingFailure, ValueReading, read_value

ENGLISH = Vocabulary(
    {
        "n_layers": Symbol(aliases=("L",)),
        "n_heads": Symbol(aliases=("h", "H")),
        "d_model": Symbol(aliases=("d", "D", "d_m")),
        "d_head": Symbol(aliases=("d_k", "d_h")),
        "d_ff": Symbol(),
        "n_voc": Symbol(aliases=("V",)),
        "n": Symbol(aliases=("N", "T")),
        "k": Symbol(),
        "s": Symbol(),
        "x": Symbol("real"),
        "p": Symbol("real"),
        "theta": Symbol("positive"),
        "h_theta": Symbol("real"),
        "a_alpha": Symbol("real"),
        "pi_theta": Symbol("positive"),
    }
)
SPOKEN = {
    name: ENGLISH.with_notation(decimal_comma=has_decimal_comma(list_languages))
    for name, list_languages in {"en": ["en"], "de": ["de"], "both": ["en", "de"]}.items()
}
COMPARER = Comparer(Points(ENGLISH.domains, b"a test"))
FORMS = ("formula", "relation", "tuple", "set", "asymptotic")
_LINE = re.compile(r"(?:\[(?P<about>[a-z,]+)\] )?(?P<text>.*?) => (?P<meant>.+)")
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")


class Typed(Struct, frozen=True):
    """A text that was typed."""

    text: str
    meant: str
    form: str
    language: str

    @property
    def refused(self) -> str:
        """Return the code of the rejection; empty if the text is readable."""
        kind, _, code = self.meant.partition(" ")
        return code if kind in ("ask", "refuse") else ""

    def __str__(self) -> str:
        """Return the line of the file, as the name of a test."""
        return f"{self.form}-{self.language}-{self.text}"


def typed() -> list[Typed]:
    """Return every line of the table."""
    found = []
    for line in (Path(__file__).parent / "typed.txt").read_text("utf-8").splitlines():
        if not line.strip() or (line.startswith("#") and " => " not in line) or line.startswith("# "):
            continue
        parts = _LINE.fullmatch(line)
        assert parts is not None, line
        about = parts["about"].split(",") if parts["about"] else []
        form = next((word for word in about if word in FORMS), "formula")
        language = next((word for word in about if word in SPOKEN), "en")
        text = _ESCAPE.sub(lambda code: chr(int(code[1], 16)), parts["text"])
        found.append(Typed(text, parts["meant"], form, language))
    return found


TYPED = typed()


def meaning(meant: str) -> Tree:
    """Return the meaning that a line states."""
    if meant.startswith("O("):
        return read_text(meant, "asymptotic", ENGLISH)[0]
    return parse_canonical(meant, ENGLISH)


def same(tree: Tree, meant: Tree) -> bool:
    """Return whether two readings have equal values, part by part."""
    if isinstance(meant, Tuple) or isinstance(tree, Tuple):
        both = isinstance(meant, Tuple) and isinstance(tree, Tuple)
        return (
            both
            and len(tree.elements) == len(meant.elements)
            and all(map(COMPARER.is_equal, tree.elements, meant.elements))
        )
    if isinstance(meant, Relation) or isinstance(tree, Relation):
        return tree == meant
    if get_sign(meant):
        return get_sign(meant) == get_sign(tree) and COMPARER.is_equal(get_body(tree), get_body(meant))
    return COMPARER.is_equal(tree, meant)


@pytest.mark.parametrize("typed", [one for one in TYPED if not one.refused], ids=str)
def test_right_notations_are_read(typed: Typed) -> None:
    """Each text is read with its meaning."""
    trees = read_text(typed.text, typed.form, SPOKEN[typed.language])
    assert len(trees) == 1
    assert same(trees[0], meaning(typed.meant))


@pytest.mark.parametrize("typed", [one for one in TYPED if one.refused], ids=str)
def test_what_is_open_to_doubt_is_asked(typed: Typed) -> None:
    """Each ambiguous text has a reason, a position in the text, and a message in both languages."""
    with pytest.raises(Unreadable) as caught:
        read_text(typed.text, typed.form, SPOKEN[typed.language])
    assert typed.refused == caught.value.code
    assert 0 <= caught.value.offset <= len(typed.text)
    for language in list_languages():
        assert (
            "{"
            not in render_message(describe_unreadable(caught.value, typed.text), language)
            .replace(typed.text, "")
            .partition("”: ")[2]
        )


@pytest.mark.parametrize("typed", TYPED, ids=str)
def test_students_are_told_the_same(typed: Typed) -> None:
    """The check in the notebook reads each text as the grader does, with the same message."""
    reading = read_value(typed.text, "formula", typed.form, SPOKEN[typed.language], "de")
    if typed.refused:
        with pytest.raises(Unreadable) as caught:
            read_text(typed.text, typed.form, SPOKEN[typed.language])
        assert ReadingFailure(render_message(describe_unreadable(caught.value, typed.text), "de")) == reading
    else:
        assert isinstance(reading, ValueReading)
        assert read_text(typed.text, typed.form, SPOKEN[typed.language]) == read_text(
            reading.text, typed.form, ENGLISH
        )
