"""Test the messages for wrong answers with one misconception each.

Every code in the table was checked to be true of its answer. Check the answer again before you change a code,
because students trust the message.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from autograder.core.records import Message
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.mistakes.diagnose import Diagnosis
from autograder.formulas.notation.formula_lists import parse_single
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.values.points import Points
from autograder.messages import list_languages, render_message

KEYS = tomllib.loads(Path(__file__).with_name("wrong_answers.toml").read_text("utf-8"))["key"]


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS, ids=lambda key: key["name"])
def test_what_is_said_of_wrong_answers(key: dict) -> None:
    """Each misconception has the stated code, or none, and a message in every language."""
    vocabulary = Vocabulary({name: Symbol(domain=domain) for name, domain in key["symbols"].items()})
    comparer = Comparer(Points(vocabulary.domains, b"a test"))
    readings = [comparer]
    if granted := [parse_single(text, vocabulary) for text in key.get("assume", ())]:
        readings.append(comparer.with_assumptions(granted))
    diagnosis = Diagnosis([parse(key["right"], vocabulary)], readings)
    told = {}
    for wrong in key["wrong"]:
        difference = diagnosis.find_difference(parse(wrong, vocabulary))
        told[wrong] = difference.code if difference else ""
        if difference:
            message = Message(difference.sentence, difference.params)
            assert all(render_message(message, language) for language in list_languages())
    assert told == key["wrong"]


def test_most_misconceptions_are_named() -> None:
    """At least nine of ten wrong answers have a diagnosis."""
    codes = [code for key in KEYS for code in key["wrong"].values()]
    assert codes.count("") <= len(codes) / 10
