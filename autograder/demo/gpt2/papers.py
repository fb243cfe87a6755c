"""One student's answers to the whole assignment about GPT-2."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import numpy as np

from autograder.demo.formulas import Sample
from autograder.demo.gpt2 import audits, filters, searches, tables, training
from autograder.demo.gpt2.sentences import SENTENCES
from autograder.demo.papers import ABSENT, EXCELLENT, Level, Paper

_PARTS = (filters, searches, training, tables, audits)
RIGHT: Mapping[str, tuple[Sample, ...]] = {
    name: found for part in _PARTS for name, found in part.RIGHT.items()
}
WRONG: Mapping[str, tuple[Sample, ...]] = {
    name: found for part in _PARTS for name, found in part.WRONG.items()
}
HOSTILE: Mapping[str, tuple[Sample, ...]] = {
    name: found for part in _PARTS for name, found in part.HOSTILE.items()
}
"""By question, in the order of the notebook."""


def write_paper(level: Level, generator: np.random.Generator, *, hostile: bool = False) -> Paper:
    """Draw one student's answers.

    Args:
        level: how well the student does.
        generator: decides everything that is left to chance.
        hostile: what is not right is no mistake, but code that is up to no good.
    """
    samples = {question: _answer(question, level, generator, hostile=hostile) for question in RIGHT}
    sources = {f"{question}-answer": sample.source for question, sample in samples.items() if sample}
    for cell, sentences in SENTENCES.items():
        if generator.random() >= level.missing:
            sources[cell] = sentences[generator.integers(len(sentences))]
    points = {
        f"{question}.{item}": sample.points[item] if sample else Decimal(0)
        for question, sample in samples.items()
        for item in RIGHT[question][0].points
    }
    return Paper(_portrait(level, samples), sources, points)


def _answer(question: str, level: Level, generator: np.random.Generator, *, hostile: bool) -> Sample | None:
    luck = generator.random()
    if luck < level.missing:
        return None
    wrong = HOSTILE if hostile else WRONG
    among = (RIGHT if luck < level.missing + level.right else wrong)[question]
    return among[int(generator.integers(len(among)))]


def _portrait(level: Level, samples: Mapping[str, Sample | None]) -> str:
    """What is wrong, in a line; the first two slips by name."""
    slips = [f"{sample.portrait} ({name})" for name, sample in samples.items() if sample and sample.portrait]
    missing = sum(sample is None for sample in samples.values())
    if missing == len(samples):
        return ABSENT.portrait
    if not slips and not missing:
        return EXCELLENT.portrait
    more = f" and {len(slips) - 2} more" if len(slips) > 2 else ""
    return (", ".join(slips[:2]) or level.portrait) + more + (f"; {missing} not answered" if missing else "")
