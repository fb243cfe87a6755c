"""The assignments that the demo's class sits."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np

from autograder.demo import bad_notebooks, papers, timetable
from autograder.demo import gpt2_papers as gpt2
from autograder.demo.decoders import given_listing
from autograder.demo.papers import DemoPaper, Level
from autograder.demo.students import Subject


def _exam(level: Level, kind: str, cells: Mapping[str, str], generator: np.random.Generator) -> DemoPaper:
    del kind
    return papers.write_paper(level, given_listing(cells.get("task5-a-answer", "")), generator)


def _gpt2(level: Level, kind: str, cells: Mapping[str, str], generator: np.random.Generator) -> DemoPaper:
    del cells
    return gpt2.write_paper(level, generator, hostile=kind == "hostile")


EXAM = Subject(
    "dl4nlp-exam",
    start=timetable.START,
    minutes=timetable.MINUTES,
    write=_exam,
    damages=bad_notebooks.damages("task3-c", copied="task3-b"),
    attacks=(
        *bad_notebooks.ATTACKS,
        bad_notebooks.equals_everything("task3-a", "query_matrix_parameters", "d_head^2"),
    ),
    after=timetable.AFTER,
)
GPT2 = Subject(
    "gpt2",
    start=datetime(2026, 1, 19, 9, 0, tzinfo=UTC),
    minutes=14 * 24 * 60,
    write=_gpt2,
    damages=bad_notebooks.damages("chain", copied="top-p"),
    attacks=(*bad_notebooks.ATTACKS, bad_notebooks.equals_everything("facts", "facts", "relu")),
)
SUBJECTS = (EXAM, GPT2)
"""In the order in which they are graded."""
