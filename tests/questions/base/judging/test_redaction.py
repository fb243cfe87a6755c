"""Test what a student's page repeats of a box's output, which may contain hidden inputs."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.core.records import ItemResult, Message, Observation, Status
from autograder.core.wording import Phrase
from autograder.messages import list_languages, render_message
from autograder.questions.base.judging.redaction import redact_results
from autograder.questions.base.judging.results import read_observed

SOURCE = 'class NoMask(ValueError): pass\ndef f(k):\n    raise NoMask("no mask at all")\n'


def page(code: str, /, **params: Phrase) -> str:
    """Return both translations of a result's message with these words, as on a page."""
    result = ItemResult("q", "i", Status.FAILED, Decimal(0), Decimal(1), Message(code, params), "staff", code)
    (shown,) = redact_results([result], [SOURCE])
    assert ("staff", code) == (shown.staff, shown.code)
    return " ".join(render_message(shown.student, language) for language in list_languages())


@pytest.mark.parametrize(
    "text", ["128", "k is 128", "no mask at all 128", "x" * 120, "a1 b2 c3", "mat1 and mat2 (10x128)"]
)
def test_texts_of_exceptions_are_not_repeated(text: str) -> None:
    """The text of an exception is not shown; the message gives its type and how to see the rest."""
    shown = page("raised", what="f [one]", error="RuntimeError", text=text)
    assert text not in shown
    assert "stopped with RuntimeError. The error message is not shown" in shown
    assert "f [one] brach ab mit RuntimeError." in shown


def test_what_stands_in_the_notebook_is_repeated() -> None:
    """A text or class name from the student's notebook is shown literally."""
    shown = page("raised", what="f [one]", error="NoMask", text="no mask at all")
    assert "f [one] stopped with NoMask: no mask at all" in shown


@pytest.mark.parametrize("name", ["K128", "k_1_2_8", "Secret", "RuntimeError128", "NoMask 12345"])
def test_names_of_classes_are_not_a_letterbox(name: str) -> None:
    """A class that is created and named during the call is not named, because its name may leak inputs."""
    shown = page("raised", what="f", error=name, text="–")
    assert name not in shown
    assert "f stopped with an exception." in shown


def test_staff_reads_all() -> None:
    """Staff see the whole text and the name."""
    _, finding = read_observed([Observation(ok=False, error="K128", message="k = 128")], 0, "f")
    assert finding is not None
    assert "f: K128: k = 128" == finding.staff
