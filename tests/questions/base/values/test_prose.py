"""Test prose: whether texts are empty, what they contain, and which are equal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.questions.base.values import prose


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "  \n\t",
            "...",
            "–",
            "?",
            "\u200b",
            "YOUR ANSWER HERE",
            "Your answer here.",
            "**your answer here**",
        ),
        *("Ihre Antwort hier …", "*(Deine Antwort hier)*".replace("(", "").replace(")", "")),
        *("1.\n2.\n3.", "- \n- \n", "TODO", "Double-click to edit"),
    ],
)
def test_what_says_nothing(text: str) -> None:
    """Placeholders, punctuation alone and the marks of an empty list are no answer."""
    assert prose.is_unwritten_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "4.",
        "2",
        "no",
        "∞",
        "d",
        "your answer here: attention",
        "1. a\n2.",
        "→",
        "语言",
        "%",
        "*",
        "\U000323b0",
    ],
)
def test_what_says_something(text: str) -> None:
    """A number, a letter, a sign of a formula or one filled line is an answer."""
    assert not prose.is_unwritten_text(text)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Attention is a set.", "attention is a set"),
        ("Attention  is\n\na set!", "“Attention” is a set"),
        ("**Retrieval**, then check", "retrieval; then check"),
        ("Straße", "STRASSE"),
        ("cafe\u0301", "café"),
        ("the ﬁrst token", "the first token"),
        ("soft\u00admax", "softmax"),
        ("a – b", "a - b"),
    ],
)
def test_trivial_differences(text: str, other: str) -> None:
    """Case, spaces, punctuation, emphasis and Unicode variants do not make a different answer."""
    assert prose.to_canonical(text) == prose.to_canonical(other)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        *(("2.5", "25"), ("d^2", "d2"), ("d²", "d2"), ("a < b", "a > b"), ("-1", "1"), ("(a+b)*c", "a+b*c")),
        *(("not right", "right"), ("d_model", "dmodel"), ("x_1", "x1"), ("½", "1/2"), ("4*d", "4d")),
    ],
)
def test_differences_that_mean_something(text: str, other: str) -> None:
    """Signs of formulas, digits and words make a different answer."""
    assert prose.to_canonical(text) != prose.to_canonical(other)


@given(st.text(max_size=200))
def test_the_form_of_a_form_is_itself(text: str) -> None:
    """The canonical form of any text is stripped, and checking it for content raises nothing."""
    form = prose.to_canonical(text)
    assert form == form.strip()
    assert prose.is_unwritten_text(text) in (True, False)


def test_differences_count_beyond_what_is_looked_at() -> None:
    """Only the beginning of a very long text is normalised; the rest is compared literally."""
    begin = "A word, " * 3000
    shouted = begin.upper()[: prose.MOST] + begin[prose.MOST :]
    assert prose.to_canonical(begin + "end") == prose.to_canonical(shouted + "end")
    assert prose.to_canonical(begin + "end") != prose.to_canonical(begin + "End")


def test_words_of_a_closed_list() -> None:
    """Whole words, prefixes, suffixes and sequences of words are found anywhere."""
    text = "A SET has no order; Reihenfolgen, Wortreihenfolge, reset; end\n token; fester Größe"
    sought = ["set", "*reihenfolge*", "end token", "ord", "fest* größe"]
    spans = [text[start:end] for start, end in prose.find_spans(text, sought)]
    assert ["SET", "Reihenfolgen", "Wortreihenfolge", "end\n token", "fester Größe"] == spans


def test_signs_in_a_closed_list_are_literal() -> None:
    """Only the star at the ends of an entry is special; overlapping matches are merged."""
    assert [] == prose.find_spans("aaa", ["a.a", "(a", "[a-z]"])
    assert [(0, 3)] == prose.find_spans("a b c", ["a b", "b", "*b*"])
