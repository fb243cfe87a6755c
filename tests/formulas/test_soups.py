"""Test that any text is read or rejected in linear time, with an exact position of the problem."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.formulas.answer_parser import read_text
from autograder.formulas.errors import Unreadable
from autograder.formulas.notation.characters import REWRITTEN
from autograder.formulas.notation.vocabulary import COMMANDS, FUNCTION_SPELLINGS, SIGNS
from autograder.formulas.shapes import read_shape
from autograder.messages import list_languages, render_message
from autograder.messages.parse_errors import describe_unreadable
from autograder.questions.numbers.quantities import read_whole
from tests.formulas.test_typed import ENGLISH, FORMS, SPOKEN, TYPED, Typed

PIECES = (
    *"dhnLNVTx0123456789 .,;:!|_^&~$#'\"{}()[]",
    *SIGNS, *(f"\\{name}" for name in COMMANDS), *FUNCTION_SPELLINGS, *REWRITTEN,
    "N = ", "= ", "≈ ", " parameters", " FLOPs/token", "(params)", "number of ", "ℝ^{", "\\text{", "\\left",
    "\\right", "\\mathbb{R}^{", "E", "σ(", "\\sigma(", "⁻⁰·⁵", "²·", "π_θ", "h_\\theta", "|V|", "dmodel",
    "d_FF",
    "0,5", "1,024", "50.257", "1{,}5", "\u202e", "\u200b", "\x0b", "\ud800", "\u0301", "日", "und ", "\n- ",
)  # fmt: skip
LONG = 2000


def ends(text: str) -> list[Unreadable]:
    """Return the errors with which all readers reject the text."""
    refusals = []
    for form in FORMS:
        for vocabulary in SPOKEN.values():
            try:
                read_text(text, form, vocabulary)
            except Unreadable as error:
                refusals.append(error)
    for read in (lambda: read_shape(text, ENGLISH), lambda: read_whole(text)):
        try:
            read()
        except Unreadable as error:
            refusals.append(error)
    return refusals


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES) | st.characters(), max_size=25).map("".join))
def test_soups_are_read_or_refused(text: str) -> None:
    """Only `Unreadable` is raised, with a position in the text and a message."""
    for error in ends(text):
        assert -1 <= error.offset <= len(text)


@pytest.mark.parametrize(
    "piece",
    [
        "N ", "N=", "= ", "≈", "a b ", "n_", "{", "(", "|", "|x", "d^", "-", "1,", "1,024", "1.024,", "0,5;",
        " parameters", "parameters ", "in total ", "\\ ", "~", "$", "\\text{", "\\left", "²·", "⁻", "·⁵",
        "\u200b", "ℝ^{", "R^(", "\\in ", "σ(", "E", "dmodel", "log ", "\\frac", "\\frac{", "1/2 ", "n[", "!=",
        "#", "\n", "und ", "\\", "_{", "d_{", "'", "&", "x ", "\\mathrm{d", "N (", "N: ", "per token ",
    ],
)  # fmt: skip
def test_long_repetitions_are_refused(piece: str) -> None:
    """Long repetitions of any piece are rejected by some reader, with a position in the text."""
    text = (piece * LONG)[: LONG - 1]
    offsets = [error.offset for error in ends(text)]
    assert offsets
    assert all(-1 <= offset <= len(text) for offset in offsets)


@pytest.mark.parametrize(
    ("marked", "form", "language"),
    [
        ("1/2▸d", "formula", "en"),
        ("4 + 1/2▸(n+1)", "formula", "en"),
        ("1/2▸√d", "formula", "en"),
        ("d/h▸n", "formula", "en"),
        ("n//2▸d", "formula", "en"),
        ("V*▸E", "formula", "en"),
        ("d·▸E²", "formula", "en"),
        ("2 + ▸1,500*d", "formula", "both"),
        ("2·▸50.257·d", "formula", "both"),
        ("n▸[0]", "formula", "en"),
        ("½·d²·n▸[0]", "formula", "en"),
        ("1▸\\frac12", "formula", "en"),
        ("2·1▸½", "formula", "en"),
        ("n ▸!= 3", "formula", "en"),
        ("n² ▸≠ 3", "relation", "en"),
        ("(▸1,024, n)", "tuple", "en"),
        ("(n², ▸1,024, n)", "tuple", "en"),
        ("{▸1,5; 2}", "set", "en"),
        ("{2; ▸1,5}", "set", "en"),
        ("▸(n, h, d", "tuple", "en"),
        ("▸(n², (h, d)", "tuple", "en"),
        ("(n, d▸]", "tuple", "en"),
        ("N = 12·▸dmodell²", "formula", "en"),
        ("≈ 12·▸quux parameters", "formula", "en"),
        ("4d² + ▸params", "formula", "en"),
        ("d²·d▸\u202e", "formula", "en"),
        ("8·▸\u0501", "formula", "en"),
        ("3·▸⁵", "formula", "en"),
        ("d^1▸/2", "formula", "en"),
        ("2·2^2▸n", "formula", "en"),
        ("n·log n▸/2", "formula", "en"),
        ("max(n, ▸0,5)", "formula", "en"),
        ("8·▸dh", "formula", "en"),
        ("n²·▸dkd", "formula", "en"),
        ("2L▸dkd", "formula", "en"),
    ],
)
def test_the_caret_stands_where_the_doubt_is(marked: str, form: str, language: str) -> None:
    """The position refers to the original text, before any rewriting."""
    text = marked.replace("▸", "")
    with pytest.raises(Unreadable) as caught:
        read_text(text, form, SPOKEN[language])
    assert marked.index("▸") == caught.value.offset
    for spoken in list_languages():
        assert render_message(describe_unreadable(caught.value, text), spoken).endswith((".", "?"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("8*d\u202e", "U+202E (RIGHT-TO-LEFT OVERRIDE)"),
        ("8*d\u2067h", "U+2067 (RIGHT-TO-LEFT ISOLATE)"),
        ("8*\ue000d", "U+E000 (no character)"),
        ("8*d\x07", "U+0007 (control character)"),
        ("8*d\u0304", "U+0304 (COMBINING MACRON)"),
        ("8*\u0441", "U+0441 (CYRILLIC SMALL LETTER ES)"),
        ("exp(-0,5n, 2)", "exp has the wrong number of arguments: 2"),
        ("max(-0,5n, 2)", "Write 0.5 for one number, or “0, 5” for two."),
        ("max(1,024)", "Write 1024 or 1.0240 for one number, or “1, 024” for two."),
        ("3·⁵", "“⁵” does not belong here"),
        ("⁵", "“⁵” does not belong here"),
        ("d − ÷ h", "“÷” does not belong here"),
    ],
)
def test_sentences_name_what_was_typed(text: str, message: str) -> None:
    """Invisible characters are named by number, signs are shown as typed, and advice keeps the value."""
    with pytest.raises(Unreadable) as caught:
        read_text(text, "formula", ENGLISH)
    assert message in render_message(describe_unreadable(caught.value, text), "en")


@pytest.mark.parametrize(
    "typed", [one for one in TYPED if one.refused.startswith("ambiguous-comma")], ids=str
)
def test_advice_about_commas_is_read(typed: Typed) -> None:
    """The proposed spellings are all readable and have different meanings."""
    with pytest.raises(Unreadable) as caught:
        read_text(typed.text, typed.form, SPOKEN[typed.language])
    params, readings = caught.value.params, []
    for name in ("joined", "grouped", "decimals", "apart"):
        if name in params:
            text = typed.text.replace(params["number"], params[name], 1)
            readings.append(read_text(text, typed.form, SPOKEN[typed.language]))
    assert len(readings) == len({str(reading) for reading in readings}) > 1
