"""Task 2 (e) of the exam: what graders are told beforehand of the two prompts that students write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograder.checks.base import Evidence
from autograder.checks.judging.manual import cue_matches
from autograder.kinds import make_check
from autograder.notebook.language import in_language
from autograder.records import Answer, Status
from autograder.rubric import load

ROOT = Path(__file__).parents[1]
RUBRIC = load(ROOT / "rubrics" / "dl4nlp-exam.toml")
(QUESTION,) = (question for question in RUBRIC.questions if question.id == "task2-e")
ZERO, ONE = QUESTION.items
GIVEN = "The seats were hard, and so was the plot to follow, but I would go again tomorrow."
CUES = ("review", "labels", "slot", "example", "order")
ALL = set(CUES)

ZERO_SHOT = {
    "instruction, review, cue": (f"Is this review positive or negative? Review: {GIVEN} Answer:", ALL),
    "German": (f"Ist die folgende Besprechung positiv oder negativ?\n\n„{GIVEN}“\n\nAntwort: ", ALL),
    "one line with a list of labels": (f'Classify as [positive, negative]: "{GIVEN}" Sentiment:', ALL),
    "a slot for the review": ("Sentiment of the text (positive/negative).\nText: {review}\nLabel: ___", ALL),
    "chat": (f"User: Positive or negative?\n{GIVEN}\nAssistant:", ALL),
    "JSON": (f'{{"task": "positive or negative?", "review": "{GIVEN}", "label": ""}}', ALL),
    "bullets": (f"**Labels:**\n- positive\n- negative\n\n> {GIVEN}\n\n**Label:** ?", ALL),
    "a mask": (f"{GIVEN} Overall it was [MASK] (negative or positive).", ALL),
    "an arrow": (f"Bestimme, ob die Besprechung negativ oder positiv ist.\n{GIVEN} →", ALL),
    "labels in the cue": (f"Review: '{GIVEN}'\nAnswer (positive/negative):", ALL),
    "labels after their cue": (f"Label: positive or negative\n{GIVEN}\nLabel:", ALL),
    "a question and its answer": (f"Q: Is '{GIVEN}' positive or negative?\nA:", ALL),
    "a sentence to go on with": (f"Entscheide: positiv oder negativ? {GIVEN} Die Rezension ist", ALL),
    "a sentence that ends": (
        f"Sag mir, ob „{GIVEN}“ eine positive oder negative Besprechung ist.",
        ALL - {"slot"},
    ),
    "no labels": (f"What is the sentiment of this review? {GIVEN} Sentiment:", ALL - {"labels"}),
    "no review": ("Is this review positive or negative? Answer:", ALL - {"review"}),
    "no cue": (f"Tell me whether this is positive or negative: {GIVEN}", ALL - {"slot"}),
    "the review alone": (GIVEN, ALL - {"labels", "slot"}),
    "an example": (
        f"Positive or negative? Review: Great fun. Answer: positive. Review: {GIVEN} Answer:",
        ALL - {"example"},
    ),
}
ONE_SHOT = {
    "on one line": (
        f"Positive or negative? Review: I left early. Answer: negative. Review: {GIVEN} Answer:",
        ALL,
    ),
    "German": (
        f"Positiv oder negativ?\nBesprechung: Ein Genuss!\nAntwort: positiv\nBesprechung: {GIVEN}\nAntwort:",
        ALL,
    ),
    "chat": (
        f"System: reply positive or negative.\nUser: Dull.\nAssistant: negative\nUser: {GIVEN}\nAssistant:",
        ALL,
    ),
    "JSON": (
        'Labels: "positive", "negative"\n{"text": "Dull.", "label": "negative"}\n'
        f'{{"text": "{GIVEN}", "label": ',
        ALL,
    ),
    "arrows": (f"Sentiment (positive/negative):\nGreat fun → positive\n{GIVEN} →", ALL),
    "quotes": (f'Positive or negative? For example, "Great fun" is positive. "{GIVEN}" is', ALL),
    "label on a line of its own": (
        f"Negative or positive?\n\nDull.\nNegative\n\n{GIVEN}\nSentiment:",
        ALL,
    ),
    "label below its cue": (
        f"negative / positive?\nReview: Dull.\nSentiment:\nnegative\n\nReview: {GIVEN}\nSentiment:",
        ALL,
    ),
    "a table": (f"Positive or negative?\n\n| Great fun | positive |\n| {GIVEN} | |", ALL),
    "numbered": (
        f"Positive or negative?\nReview 1: Dull.\nLabel 1: negative\nReview 2: {GIVEN}\nLabel 2:",
        ALL,
    ),
    "told in a sentence": (
        f"Positive or negative? An example of a negative review is: I fell asleep. {GIVEN} Answer:",
        ALL,
    ),
    "a slot for the review": (
        "Stimmung: positiv oder negativ?\n*Ein Genuss!* Stimmung: **positiv**\n*<Besprechung>* Stimmung:",
        ALL,
    ),
    "the same as above": ("The same with 'Review: Great fun. Answer: positive' before it.", ALL - {"order"}),
    "two examples": (
        f"Positive or negative?\nFun. Answer: positive\nDull. Answer: negative\n{GIVEN} Answer:",
        ALL - {"example"},
    ),
    "no example": (f"Positive or negative? {GIVEN} Answer:", ALL - {"example", "order"}),
    "an example without a label": (
        f"Positive or negative?\nReview: Great fun. Answer:\nReview: {GIVEN}\nAnswer:",
        ALL - {"example", "order"},
    ),
    "the example behind the review": (
        f"Positive or negative?\nReview: {GIVEN} Answer:\nReview: Great fun. Answer: positive",
        ALL - {"order"},
    ),
    "the review as its own example": (
        f"Positive or negative?\nReview: {GIVEN} Answer: positive",
        ALL - {"slot", "order"},
    ),
    "no labels": (f"Review: Dull. Label: negative. Review: {GIVEN} Label:", ALL - {"labels"}),
    "no review": ("Positive or negative? Great fun: Label: positive. Label:", ALL - {"review", "order"}),
}
HEADINGS = (
    ("Zero-shot: {}", "One-shot: {}"),
    ("**Zero-Shot-Prompt:**\n\n{}\n", "**One-Shot-Prompt:**\n\n{}"),
    ("### 0-shot\n{}\n", "### 1-shot\n{}"),
    ("a) Zero shot (kein Beispiel)\n{}", "b) One shot (ein Beispiel)\n{}"),
)


def cues(answer: str, item: str) -> dict[str, bool | None]:
    """What is told of an answer, by the ids of the cues."""
    asked = ZERO if item == "zero-shot" else ONE
    return dict(zip(CUES, (one.holds for one in cue_matches(QUESTION, asked, answer)), strict=False))


def missing(answer: str, item: str) -> set[str]:
    """The cues that are told not to be there."""
    return {name for name, holds in cues(answer, item).items() if holds is not True}


@pytest.mark.parametrize("headings", HEADINGS)
@pytest.mark.parametrize("name", ZERO_SHOT)
def test_zero_shot_prompts_are_told_right(name: str, headings: tuple[str, str]) -> None:
    """What is there and what is missing, whatever prompt follows in the same cell."""
    prompt, expected = ZERO_SHOT[name]
    other = ONE_SHOT["two examples"][0]
    answer = f"{headings[0].format(prompt)}\n{headings[1].format(other)}"
    assert ALL - expected == missing(answer, "zero-shot")


@pytest.mark.parametrize("headings", HEADINGS)
@pytest.mark.parametrize("name", ONE_SHOT)
def test_one_shot_prompts_are_told_right(name: str, headings: tuple[str, str]) -> None:
    """Besides: exactly one solved example, before the review; the order of the prompts is free."""
    prompt, expected = ONE_SHOT[name]
    other = ZERO_SHOT["German"][0]
    first, second = headings[0].format(other), headings[1].format(prompt)
    assert ALL - expected == missing(f"{first}\n{second}", "one-shot")
    assert ALL - expected == missing(f"{second}\n{first}", "one-shot")


def test_prompts_on_one_line_are_told_apart() -> None:
    """A heading with a colon may stand inside a line; the word in a sentence is no heading."""
    zero, one = ZERO_SHOT["instruction, review, cue"][0], ONE_SHOT["on one line"][0]
    answer = f"This is a zero-shot prompt and a one-shot prompt. Zero-shot: {zero} One-shot: {one}"
    assert set() == missing(answer, "zero-shot") | missing(answer, "one-shot")


@pytest.mark.parametrize("answer", ["", "Positive or negative?", "Zero-shot:", GIVEN])
def test_an_answer_without_headings_is_left_to_the_person(answer: str) -> None:
    """Nothing is told to be missing where it is not known which text is which prompt."""
    assert {None} == {*cues(answer, "zero-shot").values(), *cues(answer, "one-shot").values()}


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_answer_key_shows_every_cue(language: str) -> None:
    """The planted model answers lack nothing, in either language."""
    notebook = json.loads((ROOT / "assignments" / "dl4nlp-exam" / "dl4nlp-exam.ipynb").read_text("utf-8"))
    (key,) = (
        "".join(cell["source"])
        for cell in notebook["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "task2-e"
    )
    spoken = in_language(key, ("en", "de"), language, "the key")
    assert [set(), set()] == [missing(spoken, "zero-shot"), missing(spoken, "one-shot")]


@pytest.mark.parametrize("name", ONE_SHOT)
def test_a_suggestion_is_no_mark(name: str) -> None:
    """Whatever is found, both lines wait for a person, have no points, and say the same to the student."""
    answer = Answer("task2-e", "markdown", f"One-shot: {ONE_SHOT[name][0]}", changed=True)
    results = make_check(QUESTION, RUBRIC).judge(Evidence(answer, ()))
    assert {(Status.NEEDS_REVIEW, 0, 1, "review.person")} == {
        (one.status, one.points, one.possible, one.student.code) for one in results
    }


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "Answer: ",
        "One-shot: positive ",
        "(",
        "\"'*_",
        "positive negative ",
        "{<[review",
        "\n- ",
        " ",
        "ä:",
    ],
)
def test_a_megabyte_is_searched(unit: str) -> None:
    """The search in a long hostile text ends, with every pattern."""
    text = "Zero-shot: " + unit * (1_000_000 // len(unit))
    cues(text, "zero-shot")
    cues(text, "one-shot")
