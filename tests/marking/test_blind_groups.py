"""Groups of answers that were written by somebody who had not seen the code."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path
from typing import Any

from autograder.marking.grouping import SAME_WORDS, STEPS, near_groups
from tests.support.cases import each

CASES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("blind_groups.toml").read_text("utf-8"))
QUESTIONS: list[dict[str, Any]] = CASES["question"]
TIGHT = [step for step in STEPS if 0 < step <= SAME_WORDS]


def merged(texts: list[str], nearness: float) -> list[tuple[str, str]]:
    """Pairs of texts that stand in one group."""
    groups = near_groups({str(place): text for place, text in enumerate(texts)}, nearness, equal={})
    return [
        (texts[int(one)], texts[int(other)])
        for group in groups
        for one, other in itertools.permutations(group.members, 2)
    ]


def in_a_class(question: dict[str, Any]) -> list[str]:
    """All answers to a question."""
    return [text for _, *pair in question["same"] + question["different"] for text in pair]


@each("question", QUESTIONS)
def test_no_two_answers_of_different_marks_are_near(question: dict[str, Any]) -> None:
    """Neither alone, nor in a class, nor within longer answers."""
    before, after = (text for _, text, _ in question["same"][:2])
    for nearness in TIGHT:
        together = merged(in_a_class(question), nearness)
        for why, one, other in question["different"]:
            assert (one, other) not in together, why
            assert not merged([one, other], nearness), why
            assert not merged([f"{before} {text} {after}" for text in (one, other)], nearness), why


@each(("why", "one", "other"), CASES["apart"])
def test_one_other_word_keeps_answers_apart(why: str, one: str, other: str) -> None:
    """A word that was replaced or added, alone and in longer answers."""
    around = " ".join(text for _, text, _ in CASES["question"][0]["same"])
    for nearness in TIGHT:
        assert not merged([one, other], nearness), why
        assert not merged([f"{around} {text}" for text in (one, other)], nearness), why


def test_a_word_that_also_stands_elsewhere_is_no_other_one() -> None:
    """Both words are in both answers, and still one of them was replaced, or said once more."""
    start = "Queries, keys and values are projected by matrices; the softmax runs over the"
    for ends in (("keys", "queries"), ("keys", "keys and values")):
        assert not merged([f"{start} {end}" for end in ends], SAME_WORDS)


def test_frequent_words_are_no_slips() -> None:
    """A word that several answers have is a word, however near it is to another one."""
    texts = [f"The weights are {word} in {place}." for word in ("learned", "leaned") for place in "ABCDE"]
    assert not merged(texts, SAME_WORDS)
    assert merged(["The causal mask hides it.", "The casual mask hides it."], SAME_WORDS)
    assert not merged(["The keys are stored in memory.", "The keys are scored in memory."], SAME_WORDS)


def test_half_of_what_a_teacher_would_join_is_joined() -> None:
    """Of the pairs that deserve one mark, alone and in a class; the others are synonyms and other orders."""
    pairs = [(question, one, other) for question in QUESTIONS for _, one, other in question["same"]]
    alone = [merged([one, other], SAME_WORDS) for _, one, other in pairs]
    classes = {question["name"]: merged(in_a_class(question), SAME_WORDS) for question in QUESTIONS}
    in_class = [(one, other) in classes[question["name"]] for question, one, other in pairs]
    assert 33 <= sum(map(bool, alone))
    assert 33 <= sum(in_class)


def test_slips_of_the_pen_are_near() -> None:
    """All but an adverb and a clause at another place."""
    missed = [why for why, one, other in CASES["slips"] if not merged([one, other], SAME_WORDS)]
    assert ["word order adverb", "nb clause"] == missed
