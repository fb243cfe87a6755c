"""Test the messages about formulas."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import autograder.formulas
import autograder.questions.formula
from autograder.formulas.errors import Unreadable
from autograder.formulas.notation.parse import parse
from autograder.messages import load_sentences, render_message
from autograder.messages.parse_errors import describe_unreadable
from tests.formulas.examples import VOCABULARY


def test_every_code_in_the_source_has_a_sentence() -> None:
    """Every code that the reader or the diagnosis can report has a message."""
    package = Path(autograder.formulas.__file__).parent
    folder = Path(autograder.questions.formula.__file__).parent
    elsewhere = {
        "shapes.py",
        "units.py",
        "quantities.py",
        "numerals.py",
    }  # they have separate vocabularies
    files = [path for path in sorted(package.rglob("*.py")) if path.name not in elsewhere]
    files += sorted(folder.rglob("*.py"))
    source = "".join(path.read_text("utf-8") for path in files)
    raised = re.findall(r'(?:Unreadable|make_error)\(\s*"([a-z-]+)"', source)
    assert {f"unreadable.{code}" for code in raised} <= load_sentences().keys()
    assert set(re.findall(r'"(formula\.[a-z-]+)"', source)) <= load_sentences().keys()
    assert len(set(raised)) > 20


@pytest.mark.parametrize(
    "text", ["8*dmodell", "8**", "(d", "4 128", "{d}{h}_", "d.{x}", "\x00\x1b[31m", "d\ud800"]
)
@pytest.mark.parametrize("language", ["en", "de"])
def test_every_refusal_is_a_sentence(text: str, language: str) -> None:
    """The message shows the position and can be encoded as UTF-8 for any text."""
    with pytest.raises(Unreadable) as caught:
        parse(text, VOCABULARY)
    message = describe_unreadable(caught.value, text)
    sentence = render_message(message, language)
    assert "▸" in sentence
    assert sentence.encode().decode() == sentence
    assert str(caught.value.offset) == message.params["offset"]
    assert len(text) == len(message.params["text"])
    assert message.params["text"].isprintable()


def test_the_caret_stands_at_the_name() -> None:
    """Text, offset and excerpt agree on the position."""
    text = "3*n_heads*d_model*d_head + 8*dmodell^2"
    with pytest.raises(Unreadable) as caught:
        parse(text, VOCABULARY)
    params = describe_unreadable(caught.value, text).params
    assert text.index("dmodell") == int(params["offset"])
    assert "▸dmodell" in params["excerpt"]
    assert "Did you mean “d_model”?" in render_message(describe_unreadable(caught.value, text), "en")
