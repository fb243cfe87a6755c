"""Every trial of the memorisation question loses what it says; the measures agree with a slow count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.checks.base import Draw, Evidence
from autograder.kinds import make_check
from autograder.kinds.transformers.memorisation import longest_overlap, memorised_share
from autograder.messages import sentences
from autograder.records import ItemResult, Status
from autograder.rubric import load
from reference import corpus
from reference import memorisation as key
from reference.faults.memorisation import MISCONCEPTIONS
from reference.memorisation_questions import memorisation_trials
from tests.checks.asking import answer
from tests.support.local_box import LocalBox

RUBRIC = load(Path(__file__).parents[3] / "rubrics" / "gpt2.toml")
QUESTION = next(question for question in RUBRIC.questions if question.kind == "memorisation")
CHECK = make_check(QUESTION, RUBRIC)
GIVEN = Path(corpus.__file__).read_text("utf-8")
SECRETS = (b"first", b"second", b"third", b"fourth")
TOKENS = st.lists(st.integers(1, 3), max_size=9)


def sit(source: str, secret: bytes) -> dict[str, ItemResult]:
    """The results of one answer by item."""
    draw = Draw.for_question(secret, RUBRIC, QUESTION)
    reference = LocalBox("from reference.memorisation_questions import memorisation")
    expected = reference.ask(CHECK.reference_plan(draw))
    observed = LocalBox(GIVEN, source).ask(CHECK.plan(answer(source), draw))
    results = CHECK.judge(Evidence(answer(source), observed, expected, draw=draw))
    return {one.item: one for one in results}


@pytest.mark.slow
@pytest.mark.parametrize("trial", memorisation_trials(), ids=lambda trial: trial["name"])
@pytest.mark.parametrize("secret", SECRETS)
def test_a_trial_loses_exactly_its_items(trial: dict[str, Any], secret: bytes) -> None:
    """Whatever the secret draws, the items that a trial names are lost and no other."""
    results = sit(trial["source"], secret)
    lost = {name for name, one in results.items() if one.status is not Status.PASSED}
    assert set(trial["loses"]) == lost, {name: one.staff for name, one in results.items()}
    misconception = next(
        (misconception for misconception in MISCONCEPTIONS if misconception.name == trial["name"]), None
    )
    if misconception is not None:
        assert f"memorisation.{misconception.code}" == results[misconception.loses[0]].student.code


def test_every_misconception_has_a_sentence() -> None:
    """Each code of the catalogue is explained in every language."""
    for misconception in MISCONCEPTIONS:
        assert f"memorisation.{misconception.code}" in sentences()


@given(generated=TOKENS, texts=st.lists(TOKENS, max_size=3), n=st.integers(1, 4))
def test_the_measures_equal_a_slow_count(generated: list[int], texts: list[list[int]], n: int) -> None:
    """Both sides' measures are what trying every piece gives."""

    def occurs(piece: list[int]) -> bool:
        return any(piece == text[at : at + len(piece)] for text in texts for at in range(len(text)))

    pieces = [generated[a:b] for b in range(len(generated) + 1) for a in range(b)]
    longest = max((len(piece) for piece in pieces if occurs(piece)), default=0)
    grams = [piece for piece in pieces if len(piece) == n]
    share = sum(map(occurs, grams)) / len(grams) if grams else 0.0
    assert (longest, share) == (longest_overlap(generated, texts), memorised_share(generated, texts, n))
    assert {"longest": longest, "share": share} == key.memorisation(generated, texts, n)
