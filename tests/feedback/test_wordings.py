"""The course's own words in the place of generated sentences: filled like these, and never anything more."""

from __future__ import annotations

import contextlib
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.feedback.render import render
from autograder.feedback.wordings import pieces, spoken, told
from autograder.records import Graded, ItemResult, Message, Score, Status
from autograder.wording import LocalisedText
from tests.service.told import RUBRIC, UNKNOWN, score
from tests.service.told import told as lost

KEY = ("activation", "name", "choice.unknown")
TRICKS = (
    "{name.__class__}",
    "{name[0]}",
    "{0}",
    "{}",
    "{name!r}",
    "{name:>9999999}",
    "{name:{name}}",
    "{{name}",
    "{name}}",
    "{",
    "}",
    "{na me}",
    "{name\n}",
    "{ñ}",
)


def said(text: str, message: Message = UNKNOWN, language: str = "en") -> tuple[str, str]:
    """What is told in the place of a message, as text and as markup."""
    result = ItemResult("q", "i", Status.FAILED, Decimal(0), Decimal(1), message, "")
    plain, marked = told(result, language, {("q", "i", message.code): text})
    return plain, str(marked)


def page(text: str, *results: ItemResult, language: str = "en", **graded: Any) -> str:
    """The feedback page of a student with a wording."""
    found = Graded(score("ada", *results), **graded)
    return render(found, RUBRIC, language=language, wordings={KEY: {"en": text}})


def test_placeholders_are_filled() -> None:
    """Each as often as it stands there; braces are written twice."""
    assert "softplus and softplus: {x}" == said("{name} and {name}: {{x}}")[0]
    assert "No placeholder." == said("No placeholder.")[0]


@pytest.mark.parametrize("trick", TRICKS)
def test_format_strings_do_nothing(trick: str) -> None:
    """Such a text is no wording; where it stands in the database nevertheless, the generated one is told."""
    with pytest.raises(ValueError, match=r"brace|placeholder|expected|Single"):
        pieces(trick)
    assert "“softplus” is not one of the options." == said(trick)[0]


@pytest.mark.parametrize("text", ["{__class__}", "{offset}", "{name} {text}"])
def test_a_placeholder_that_the_message_lacks_restores_the_generated_sentence(text: str) -> None:
    """As after a new version whose message carries something else."""
    assert "“softplus” is not one of the options." == said(text)[0]


def test_there_are_so_many_placeholders_at_most() -> None:
    """Each may be filled with something long."""
    assert 20 == len(pieces("{name}" * 20))
    with pytest.raises(ValueError, match="20"):
        pieces("{name}" * 21)
    long = Message("choice.unknown", {"name": "x" * 100_000})
    assert 20 * 1001 == len(said("{name}" * 20, long)[0])


def test_what_students_wrote_fills_nothing_further() -> None:
    """Braces in a value are its text."""
    hostile = Message("choice.unknown", {"name": "{name}{0.__class__}{{"})
    assert "got {name}{0.__class__}{{" == said("got {name}", hostile)[0]


def test_texts_and_values_are_escaped_and_readable() -> None:
    """Markup of either is text; what hides or reorders is spelled out; the page always encodes."""
    hostile = Message("choice.unknown", {"name": "<script>\u202e\ud800"})
    plain, marked = said("<b>{name}</b>\u202e", hostile)
    assert "<b><script>⟨U+202E⟩\ufffd</b>⟨U+202E⟩" == plain
    assert "&lt;b&gt;&lt;script&gt;⟨U+202E⟩\ufffd&lt;/b&gt;⟨U+202E⟩" == marked


def test_formulas_are_set_as_code() -> None:
    """As generated sentences have them; of other messages nothing is."""
    formula = Message("formula.tuple-product", {"entry": "<3*d"})
    assert "one: <code>&lt;3*d</code>" == said("one: {entry}", formula)[1]
    assert "softplus" == said("{name}", UNKNOWN)[1]


def test_values_are_in_the_readers_language() -> None:
    """Where a rubric states them in several."""
    message = Message("choice.unknown", {"name": LocalisedText({"en": "wall", "de": "Wand"})})
    assert ("wall", "Wand") == (said("{name}", message)[0], said("{name}", message, "de")[0])


@given(st.text(max_size=60), st.text(max_size=20))
def test_every_text_is_a_wording_or_refused(text: str, value: str) -> None:
    """Nothing is raised but ValueError, and what is told always encodes."""
    with contextlib.suppress(ValueError):
        pieces(text)
    for part in said(text, Message("choice.unknown", {"name": value})):
        part.encode()


def test_a_language_of_the_course_has_its_own_words_or_generated_ones() -> None:
    """Who reads a language that the course does not speak gets English."""
    both, english = {KEY: {"en": "one", "de": "eins"}}, {KEY: {"en": "one"}}
    assert {KEY: "eins"} == spoken(both, "de", ("en", "de"))
    assert {} == spoken(english, "de", ("en", "de"))
    assert {KEY: "one"} == spoken(english, "de", ("en",))
    assert {KEY: "one"} == spoken(both, "fr", ("en", "de"))


def test_the_page_shows_the_courses_words() -> None:
    """In the item and in the list of losses, escaped; others keep theirs."""
    results = (lost("activation", "name", UNKNOWN), lost("places", "scored", UNKNOWN))
    told_there = page("It is <gelu>, not {name}.", *results)
    assert 2 == told_there.count("It is &lt;gelu&gt;, not softplus.")
    assert 2 == told_there.count("is not one of the options")  # the other item
    assert "<gelu>" not in told_there


def test_a_submission_that_cannot_be_read_says_so_above() -> None:
    """With the course's words where all its items have the same; otherwise with the generated ones."""
    refusal = Message("notebook.empty", text={"en": "There is nothing in it."})
    items = tuple(
        ItemResult(one.id, item.id, Status.NO_ANSWER, Decimal(0), item.points, refusal, "")
        for one in RUBRIC.questions
        for item in one.items
    )
    found = Graded(Score("ada", "small", 1, items))
    everywhere = {(one.question, one.item, refusal.code): {"en": "Come to my office."} for one in items}
    notice = '<div class="notice bad"><p>{}</p></div>'
    assert notice.format("Come to my office.") in render(found, RUBRIC, wordings=everywhere)
    once = dict([next(iter(everywhere.items()))])
    assert notice.format("There is nothing in it.") in render(found, RUBRIC, wordings=once)
