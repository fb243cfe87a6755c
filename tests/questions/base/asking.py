"""Helpers that make a check from TOML, an answer, and evidence with canned observations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from autograder.core.records import Answer, Ending, ItemResult, LimitEvent, LimitKind, Observation
from autograder.questions import make_check
from autograder.questions.base.base import Check, Draw, Evidence
from autograder.rubric import parse_rubric

DRAW = Draw(b"a secret of the tests")
SYMBOLS = ("batch", "n_heads", "seq", "d_head", "d_model")


def rubric_text(question: str) -> bytes:
    """Return a rubric with one question and the symbols of shapes."""
    points = re.search(r"^points = ([0-9.]+)", question, re.MULTILINE)
    assert points is not None
    head = f'version = 1\n[assignment]\nname = "test"\npoints = {points[1]}\n[assignment.symbols]\n'
    return (head + "".join(f"{name} = {{}}\n" for name in SYMBOLS) + question).encode()


def check_of(question: str) -> Check:
    """Return the check of a question written in TOML."""
    rubric = parse_rubric(rubric_text(question))
    return make_check(rubric.questions[0], rubric)


def answer(source: str, *, changed: bool = True, cell_type: str = "code") -> Answer:
    """Return an answer cell."""
    return Answer("q-answer", cell_type, source, changed)


def value(returned: Any) -> Observation:
    """Return the observation of a call with this value."""
    return Observation(ok=True, value=returned)


def error(name: str, message: str = "") -> Observation:
    """Return the observation of a call that raised."""
    return Observation(ok=False, error=name, message=message)


def met(limit: LimitKind, name: str) -> Observation:
    """Return the observation of a call that raised because of a limit."""
    return Observation(ok=False, error=name, met=(LimitEvent(limit, claimed=True),), limit="3 of them")


def ended(ending: Ending) -> Observation:
    """Return the observation of a call that ended the box."""
    return Observation(ok=False, ending=ending)


def judge(
    check: Check,
    source: str | Answer,
    observed: Sequence[Observation] = (),
    expected: Sequence[Observation] = (),
) -> tuple[ItemResult, ...]:
    """Return the results of one answer."""
    given_answer = source if isinstance(source, Answer) else answer(source)
    return check.judge(Evidence(given_answer, observed, expected, draw=DRAW))
