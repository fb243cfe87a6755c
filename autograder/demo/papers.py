"""One student's answers to all questions: which are right, which carry a misconception, which are missing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec
import numpy as np
from msgspec import Struct

from autograder.demo import decoders
from autograder.demo.answers import Sample, answers, assignment, table

ANSWERS = answers("dl4nlp-exam")
CAUSES = ("task4-d", "task4-e", "task4-f", "task4-g")
"""Questions that ask for a cause; each cause may be named once."""
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
"""A student who gets everything right keeps to one notation where it can be told."""

CARRIED: Mapping[str, str] = table("dl4nlp-exam")["carried"]
"""By the misconception in (h): the right continuation in (i)."""

CONSISTENT = ("forgot W_O in (d)", "lost a matrix in (e)")
"""Misconceptions in (d) and (e) that are one and the same: the second follows from the first."""


class Level(Struct, frozen=True):
    """How a student does on average, as probabilities."""

    portrait: str
    right: float
    missing: float


EXCELLENT = Level("all right", 1.0, 0.0)
GOOD = Level("good", 0.8, 0.0)
MIDDLING = Level("middling", 0.5, 0.15)
WEAK = Level("weak", 0.2, 0.5)
ABSENT = Level("nothing answered", 0.0, 1.0)


class DemoPaper(Struct, frozen=True):
    """What one student writes into the answer cells."""

    portrait: str
    sources: Mapping[str, str]
    """By grade_id of the cell; cells that are missing keep the stub."""
    points: Mapping[str, Decimal]
    """By ``question.item``: what every automatic item earns."""


def write_paper(level: Level, listing: str, generator: np.random.Generator) -> DemoPaper:
    """Draw one student's answers.

    Args:
        level: how well the student does.
        listing: the decoder as the release gives it.
        generator: decides everything that is left to chance.
    """
    notation = tuple(NOTATIONS)[generator.integers(len(NOTATIONS))] if level is EXCELLENT else ""
    samples = {question: _answer(question, level, notation, listing, generator) for question in QUESTIONS}
    looking_back = samples["task3-h"]
    if looking_back is None or looking_back.portrait:
        samples["task3-i"] = _continued(looking_back, samples["task3-i"], generator)
    _once(samples)
    _told_apart(samples)
    sources = {f"{question}-answer": sample.source for question, sample in samples.items() if sample}
    for cell, sentences in ANSWERS.written.items():
        if generator.random() >= level.missing:
            sources[cell] = sentences[generator.integers(len(sentences))]
    points = {
        f"{question}.{item}": mark
        for question, sample in samples.items()
        for item, mark in (sample.points if sample else _nothing(question)).items()
    }
    portrait = _portrait(level, samples)
    return DemoPaper(f"{portrait}, {notation}" if notation else portrait, sources, points)


def _answer(
    question: str, level: Level, notation: str, listing: str, generator: np.random.Generator
) -> Sample | None:
    luck = generator.random()
    if luck < level.missing:
        return None
    right = luck < level.missing + level.right
    if question == "task5-a":
        return _decoder(listing, generator, right=right)
    among: Sequence[Sample] = (ANSWERS.right if right else ANSWERS.wrong)[question]
    if notation:
        among = [sample for sample in among if NOTATIONS[notation].search(sample.source)] or among
    return among[int(generator.integers(len(among)))]


def _decoder(listing: str, generator: np.random.Generator, *, right: bool) -> Sample:
    faults = tuple(decoders.REPAIRS)
    way = int(generator.integers(6))
    if right:
        return decoders.repaired(listing, faults, way)
    found = tuple(fault for fault in faults if generator.random() < 0.6)[: len(faults) - 1]
    missed = [fault for fault in decoders.MISCONCEPTIONS if fault not in found]
    misconception = missed[generator.integers(len(missed))] if missed and generator.random() < 0.5 else ""
    return decoders.repaired(listing, found, way, misconception)


def _continued(
    looking_back: Sample | None, changed_model: Sample | None, generator: np.random.Generator
) -> Sample | None:
    """The answer to (i) of a student whose (h) is wrong: carried on from there, right, or missing."""
    if changed_model is None:
        return None
    if looking_back is not None and looking_back.portrait in CARRIED:
        source = assignment("changed_model_parameters", CARRIED[looking_back.portrait])
        return Sample(source, {"formula": Decimal(2)})
    right = ANSWERS.right["task3-i"]
    return right[generator.integers(len(right))]


def _once(samples: dict[str, Sample | None]) -> None:
    """Give (e) all points where it is right for what stands in (d)."""
    layer, simplified = samples["task3-d"], samples["task3-e"]
    if layer and simplified and (layer.portrait, simplified.portrait) == CONSISTENT:
        points = {**simplified.points, "formula": Decimal(2)}
        samples["task3-e"] = msgspec.structs.replace(simplified, points=points)


def _told_apart(samples: dict[str, Sample | None]) -> None:
    """Take the point from every cause of task 4 that an earlier part named already."""
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


def _nothing(question: str) -> Mapping[str, Decimal]:
    items = decoders.REPAIRS if question == "task5-a" else ANSWERS.right[question][0].points
    return dict.fromkeys(items, Decimal(0))


def _portrait(level: Level, samples: Mapping[str, Sample | None]) -> str:
    """What is wrong, in a line; the first two misconceptions by name."""
    misconceptions = [sample.portrait for sample in samples.values() if sample and sample.portrait]
    missing = sum(sample is None for sample in samples.values())
    if missing == len(samples):
        return ABSENT.portrait
    if not misconceptions and not missing:
        return EXCELLENT.portrait
    named = ", ".join(misconceptions[:2]) or level.portrait
    more = f" and {len(misconceptions) - 2} more" if len(misconceptions) > 2 else ""
    return named + more + (f"; {missing} not answered" if missing else "")
