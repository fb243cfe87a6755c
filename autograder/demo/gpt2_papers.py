"""One student's answers to the whole assignment about GPT-2."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import numpy as np

from autograder.demo.answers import Sample, answers
from autograder.demo.papers import ABSENT, EXCELLENT, DemoPaper, Level

ANSWERS = answers("gpt2")


def write_paper(level: Level, generator: np.random.Generator, *, hostile: bool = False) -> DemoPaper:
    """Draw one student's answers.

    Args:
        level: how well the student does.
        generator: decides everything that is left to chance.
        hostile: what is not right is no mistake, but code that is up to no good.
    """
    samples = {question: _answer(question, level, generator, hostile=hostile) for question in ANSWERS.right}
    sources = {f"{question}-answer": sample.source for question, sample in samples.items() if sample}
    for cell, sentences in ANSWERS.written.items():
        if generator.random() >= level.missing:
            sources[cell] = sentences[generator.integers(len(sentences))]
    points = {
        f"{question}.{item}": sample.points[item] if sample else Decimal(0)
        for question, sample in samples.items()
        for item in ANSWERS.right[question][0].points
    }
    return DemoPaper(_portrait(level, samples), sources, points)


def _answer(question: str, level: Level, generator: np.random.Generator, *, hostile: bool) -> Sample | None:
    luck = generator.random()
    if luck < level.missing:
        return None
    wrong = ANSWERS.hostile if hostile else ANSWERS.wrong
    among = (ANSWERS.right if luck < level.missing + level.right else wrong)[question]
    return among[int(generator.integers(len(among)))]


def _portrait(level: Level, samples: Mapping[str, Sample | None]) -> str:
    """What is wrong, in a line; the first two misconceptions by name."""
    misconceptions = [
        f"{sample.portrait} ({name})" for name, sample in samples.items() if sample and sample.portrait
    ]
    missing = sum(sample is None for sample in samples.values())
    if missing == len(samples):
        return ABSENT.portrait
    if not misconceptions and not missing:
        return EXCELLENT.portrait
    more = f" and {len(misconceptions) - 2} more" if len(misconceptions) > 2 else ""
    return (
        (", ".join(misconceptions[:2]) or level.portrait)
        + more
        + (f"; {missing} not answered" if missing else "")
    )
