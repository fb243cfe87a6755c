"""One student's answers to all questions: right, wrong with a known misconception, or missing.

The decoder to be repaired is edited: a repair replaces a text of the listing with the student's text. This
module does not contain the repaired listing: students start from the given listing, too.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from autograder.core.errors import NotebookError

DATA = Path(__file__).with_name("data")


class Sample(Struct, frozen=True):
    """One possible content of an answer cell."""

    source: str
    """The cell's code."""
    points: Mapping[str, Decimal]
    """Points earned, by automatic item. A missing item has no known result."""
    portrait: str = ""
    """Short description of the mistake; empty if the answer is right."""

    @property
    def earned(self) -> Decimal:
        """Total points of the automatic items."""
        return sum(self.points.values(), Decimal(0))


Samples = Mapping[str, tuple[Sample, ...]]
"""Samples by question, in the order of the notebook."""


class Answers(Struct, frozen=True):
    """Possible answers to one assignment."""

    right: Samples
    wrong: Samples
    hostile: Samples
    """Malicious code, which earns no points."""
    written: Mapping[str, tuple[str, ...]]
    """Texts for manually graded cells, by cell."""


@functools.cache
def load_table(name: str) -> dict[str, Any]:
    """Load a TOML file of ``data/`` with exact decimals."""
    return tomllib.loads((DATA / f"{name}.toml").read_text("utf-8"), parse_float=Decimal)


def load_answers(name: str) -> Answers:
    """Load the answers to one assignment.

    Raises:
        ValueError: the old text of an edit does not occur exactly once in the answer that it changes.
    """
    content = load_table(name)
    questions = {question: entry for question, entry in content.items() if "right" in entry}
    hostile = {question: entry for question, entry in questions.items() if "hostile" in entry}
    return Answers(
        {
            question: tuple(Sample(source, _parse_points(entry["points"])) for source in entry["right"])
            for question, entry in questions.items()
        },
        {
            question: tuple(_make_wrong(entry, each) for each in entry["wrong"])
            for question, entry in questions.items()
        },
        {
            question: _make_hostile(entry, content["hostile"][entry["hostile"]])
            for question, entry in hostile.items()
        },
        {cell: tuple(texts) for cell, texts in content["written"].items()},
    )


def _make_wrong(question: Mapping[str, Any], entry: Mapping[str, Any]) -> Sample:
    # A wrong answer is written out in full, or derived by edits from the right answer number "of".
    source = entry.get("source") or _apply_edits(question["right"][entry.get("of", 1) - 1], entry["edits"])
    return Sample(source, _parse_points(entry["points"]), entry["portrait"])


def _make_hostile(question: Mapping[str, Any], sources: Mapping[str, str]) -> tuple[Sample, ...]:
    nothing = dict.fromkeys(question["points"], Decimal(0))
    return tuple(
        # Not str.format: the code contains braces.
        Sample(source.replace("{name}", question["name"]), nothing, portrait)
        for portrait, source in sources.items()
    )


def _parse_points(entries: Mapping[str, Any]) -> dict[str, Decimal]:
    return {item: Decimal(points) for item, points in entries.items()}


def _apply_edits(plain: str, changes: list[list[str]]) -> str:
    for old, new in changes:
        # An ambiguous or outdated edit would silently leave the answer right.
        if plain.count(old) != 1:
            raise ValueError(f"{old!r} does not stand exactly once in the answer")
        plain = plain.replace(old, new)
    return plain


def format_assignment(name: str, text: str) -> str:
    """Format the Python line that assigns a text to a name; a raw string if the text has backslashes."""
    return f'{name} = r"{text}"' if "\\" in text else f'{name} = "{text}"'


ANSWERS = load_answers("dl4nlp-exam")
GPT2 = load_answers("gpt2")
CAUSES = ("task4-d", "task4-e", "task4-f", "task4-g")
"""Questions that ask for a cause; each cause may be named only once."""
QUESTIONS = (
    *("task1-b", "task1-d", "task1-e", "task1-f", "task1-g", "task1-h"),
    *("task2-c", "task2-d", "task2-f", "task2-h"),
    *("task3-a", "task3-b", "task3-c", "task3-d", "task3-e", "task3-f", "task3-h", "task3-i"),
    *CAUSES,
    *("task5-a", "task5-b"),
)
"""The questions with automatic items, in the order of the exam."""

NOTATIONS: Mapping[str, re.Pattern[str]] = {
    "in LaTeX": re.compile(r"\\"),
    "in Unicode": re.compile(r"[^\x00-\x7f]"),
    "as Python": re.compile(r"\*\*"),
}
"""Notations of formulas. A student with all answers right keeps to one notation if it is recognisable."""

CARRIED: Mapping[str, str] = load_table("dl4nlp-exam")["carried"]
"""The right continuation in (i), by the misconception in (h)."""

CONSISTENT: Mapping[tuple[str, str], Mapping[str, Decimal]] = {
    (earlier, pair["later"]): pair["points"]
    for pair in load_table("dl4nlp-exam")["consistent"]
    for earlier in pair["earlier"]
}
"""Points of the second answer, by two misconceptions of which the second follows from the first."""


_STUB = re.compile(r"\n*# Repair the classes above[^\n]*\n# YOUR CODE HERE\nraise NotImplementedError\(\)\n?")
_STATED = load_table("dl4nlp-exam")["repair"]
MISCONCEPTIONS: Mapping[str, tuple[str, str]] = {
    fault: (entry["misconception"]["portrait"], entry["misconception"]["written"])
    for fault, entry in _STATED.items()
    if "misconception" in entry
}
"""By fault: a portrait, and a change at the right position that does not repair it."""


class Repair(Struct, frozen=True):
    """One fault of the listing, and the ways in which students repair it."""

    given: str
    written: tuple[str, ...]


REPAIRS: Mapping[str, Repair] = {
    fault: Repair(entry["given"], tuple(entry["written"])) for fault, entry in _STATED.items()
}
"""Repairs by fault, which is also the item of the rubric."""


class Level(Struct, frozen=True):
    """Average performance of a student, as probabilities."""

    portrait: str
    right: float
    missing: float


EXCELLENT = Level("all right", 1.0, 0.0)
GOOD = Level("good", 0.8, 0.0)
MIDDLING = Level("middling", 0.5, 0.15)
WEAK = Level("weak", 0.2, 0.5)
ABSENT = Level("nothing answered", 0.0, 1.0)


class DemoPaper(Struct, frozen=True):
    """All answers of one student."""

    portrait: str
    sources: Mapping[str, str]
    """By grade_id of the cell; missing cells keep the stub."""
    points: Mapping[str, Decimal]
    """By ``question.item``: points that each automatic item earns."""


def write_paper(level: Level, listing: str, generator: np.random.Generator) -> DemoPaper:
    """Draw one student's answers to the exam.

    Args:
        level: how well the student does.
        listing: the decoder as in the release.
        generator: source of all random choices.
    """
    notation = tuple(NOTATIONS)[generator.integers(len(NOTATIONS))] if level is EXCELLENT else ""
    samples = {
        question: _draw_answer(question, level, notation, listing, generator) for question in QUESTIONS
    }
    looking_back = samples["task3-h"]
    if looking_back is None or looking_back.portrait:
        samples["task3-i"] = _derive_follow_up(looking_back, samples["task3-i"], generator)
    # After task3-i is final: both passes compare the answers as they will be written.
    _grant_consistent_points(samples)
    _deduct_repeated_causes(samples)
    sources = {f"{question}-answer": sample.source for question, sample in samples.items() if sample}
    for cell, sentences in ANSWERS.written.items():
        if generator.random() >= level.missing:
            sources[cell] = sentences[generator.integers(len(sentences))]
    points = {
        f"{question}.{item}": mark
        for question, sample in samples.items()
        for item, mark in (sample.points if sample else _make_zero_points(question)).items()
    }
    portrait = _describe_mistakes(level, samples)
    return DemoPaper(f"{portrait}, {notation}" if notation else portrait, sources, points)


def _draw_answer(
    question: str, level: Level, notation: str, listing: str, generator: np.random.Generator
) -> Sample | None:
    luck = generator.random()
    if luck < level.missing:
        return None
    right = luck < level.missing + level.right
    if question == "task5-a":
        return _draw_decoder(listing, generator, right=right)
    among: Sequence[Sample] = (ANSWERS.right if right else ANSWERS.wrong)[question]
    # Not every question has an answer in each notation.
    if notation:
        among = [sample for sample in among if NOTATIONS[notation].search(sample.source)] or among
    return among[int(generator.integers(len(among)))]


def _draw_decoder(listing: str, generator: np.random.Generator, *, right: bool) -> Sample:
    faults = tuple(REPAIRS)
    way = int(generator.integers(6))
    if right:
        return repair_listing(listing, faults, way)
    # A student who is not entirely right misses at least one fault.
    repaired_faults = tuple(fault for fault in faults if generator.random() < 0.6)[: len(faults) - 1]
    missed = [fault for fault in MISCONCEPTIONS if fault not in repaired_faults]
    misconception = missed[generator.integers(len(missed))] if missed and generator.random() < 0.5 else ""
    return repair_listing(listing, repaired_faults, way, misconception)


def _derive_follow_up(
    looking_back: Sample | None, changed_model: Sample | None, generator: np.random.Generator
) -> Sample | None:
    """Return the answer to (i) of a student with a wrong (h): consistent with (h), right, or missing."""
    if changed_model is None:
        return None
    if looking_back is not None and looking_back.portrait in CARRIED:
        source = format_assignment("changed_model_parameters", CARRIED[looking_back.portrait])
        return Sample(source, {"formula": Decimal(2)})
    right = ANSWERS.right["task3-i"]
    return right[generator.integers(len(right))]


def _grant_consistent_points(samples: dict[str, Sample | None]) -> None:
    """Give points to answers that are right given the mistake in an earlier answer."""
    portraits = {sample.portrait for sample in samples.values() if sample}
    for question, sample in samples.items():
        if sample is None:
            continue
        for earlier in portraits:
            if earned := CONSISTENT.get((earlier, sample.portrait)):
                samples[question] = msgspec.structs.replace(sample, points={**sample.points, **earned})


def _deduct_repeated_causes(samples: dict[str, Sample | None]) -> None:
    """Take the point from every cause of task 4 that an earlier part already named."""
    named: set[str] = set()
    for question in CAUSES:
        sample = samples[question]
        if sample is None:
            continue
        cause = sample.source.partition('"')[2].rstrip('"')
        if cause in named:
            portrait = f"names “{cause}” twice"
            samples[question] = msgspec.structs.replace(
                sample, points={"cause": Decimal(0)}, portrait=portrait
            )
        named.add(cause)


def _make_zero_points(question: str) -> Mapping[str, Decimal]:
    items = REPAIRS if question == "task5-a" else ANSWERS.right[question][0].points
    return dict.fromkeys(items, Decimal(0))


def _describe_mistakes(level: Level, samples: Mapping[str, Sample | None], *, named: bool = False) -> str:
    """Describe the mistakes in one line: the first two misconceptions, with their questions if requested."""
    misconceptions = [
        f"{sample.portrait} ({question})" if named else sample.portrait
        for question, sample in samples.items()
        if sample and sample.portrait
    ]
    missing = sum(sample is None for sample in samples.values())
    if missing == len(samples):
        return ABSENT.portrait
    if not misconceptions and not missing:
        return EXCELLENT.portrait
    first = ", ".join(misconceptions[:2]) or level.portrait
    more = f" and {len(misconceptions) - 2} more" if len(misconceptions) > 2 else ""
    return first + more + (f"; {missing} not answered" if missing else "")


def extract_listing(answer_cell: str) -> str:
    """Return the listing in the release's answer cell, without the stub below it.

    Raises:
        NotebookError: the cell has no stub, or a fault does not occur in it exactly once.
    """
    listing, stubs = _STUB.subn("\n", answer_cell)
    if stubs != 1:
        raise NotebookError("demo-listing", "the decoder's answer cell has no stub to remove")
    for fault, repair in REPAIRS.items():
        # Repairs are text replacements: a text that occurs twice would be repaired in both positions.
        if listing.count(repair.given) != 1:
            raise NotebookError(
                "demo-listing", f"fault {fault!r}: {repair.given!r} should stand once in the decoder's cell"
            )
    return listing


def repair_listing(listing: str, faults: Collection[str], way: int = 0, misconception: str = "") -> Sample:
    """Return a student's decoder.

    Args:
        listing: the result of `extract_listing`.
        faults: the faults that the student repairs.
        way: index of the variant of each repair, modulo the number of variants.
        misconception: a fault that is changed into another wrong text; none if empty.
    """
    for fault in faults:
        written = REPAIRS[fault].written
        listing = listing.replace(REPAIRS[fault].given, written[way % len(written)])
    portrait = ""
    if misconception:
        portrait, wrong = MISCONCEPTIONS[misconception]
        listing = listing.replace(REPAIRS[misconception].given, wrong)
    elif len(faults) < len(REPAIRS):
        portrait = f"repaired {len(faults)} of {len(REPAIRS)} faults"
    return Sample(listing, {fault: Decimal(int(fault in faults)) for fault in REPAIRS}, portrait)


def write_gpt2_paper(level: Level, generator: np.random.Generator, *, hostile: bool = False) -> DemoPaper:
    """Draw one student's answers to the assignment about GPT-2.

    Args:
        level: how well the student does.
        generator: source of all random choices.
        hostile: replace wrong answers by malicious code.
    """
    samples = {
        question: _draw_gpt2_answer(question, level, generator, hostile=hostile) for question in GPT2.right
    }
    sources = {f"{question}-answer": sample.source for question, sample in samples.items() if sample}
    for cell, sentences in GPT2.written.items():
        if generator.random() >= level.missing:
            sources[cell] = sentences[generator.integers(len(sentences))]
    points = {
        f"{question}.{item}": sample.points[item] if sample else Decimal(0)
        for question, sample in samples.items()
        for item in GPT2.right[question][0].points
    }
    return DemoPaper(_describe_mistakes(level, samples, named=True), sources, points)


def _draw_gpt2_answer(
    question: str, level: Level, generator: np.random.Generator, *, hostile: bool
) -> Sample | None:
    luck = generator.random()
    if luck < level.missing:
        return None
    wrong = GPT2.hostile if hostile else GPT2.wrong
    among = (GPT2.right if luck < level.missing + level.right else wrong)[question]
    return among[int(generator.integers(len(among)))]
