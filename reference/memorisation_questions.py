"""What the memorisation question asks of the reference: the notebook's corpus, and what mistakes measure."""

from __future__ import annotations

import inspect
from typing import Any

from . import memorisation as key
from .corpus import CORPUS
from .faults.memorisation import MISCONCEPTIONS
from .faults.misconception import compiled, planted

SOURCE = inspect.getsource(key.memorisation)
REPORT = """

pieces = CORPUS[0][:4] + [0] + CORPUS[0][4:8] + CORPUS[1][-5:] + CORPUS[2][:5] + CORPUS[0][:4]
report = {"tokens": pieces, **memorisation(pieces, CORPUS, 3)}
"""
"""What follows the function in an answer cell: a text that every misconception measures otherwise."""


class Oracle:
    """Right measures, those of every misconception, and the corpus that reports are about."""

    corpus = CORPUS

    def __init__(self) -> None:
        self._planted: list[tuple[str, Any]] = []

    def expected(self, generated: list[int], corpus: list[list[int]], n: int) -> dict[str, Any]:
        """Arguments as those of the student's function; see `reference.memorisation.memorisation`."""
        if not self._planted:
            self._planted = [
                (misconception.code, compiled(planted(SOURCE, misconception), "memorisation", vars(key)))
                for misconception in MISCONCEPTIONS
            ]
        mistakes = [
            {"code": code, "values": measure(generated, corpus, n)} for code, measure in self._planted
        ]
        return {"right": key.memorisation(generated, corpus, n), "mistakes": mistakes}


memorisation = Oracle()


def memorisation_trials() -> list[dict[str, Any]]:
    """For `autograder verify`."""
    reports = {
        "numbers of another text": 'report["tokens"] = CORPUS[0] * 2\n',
        "a text too short": "report = {'tokens': [1], **memorisation([1], CORPUS, 3)}\n",
        "a number is missing": 'del report["share"]\n',
        "no report": "del report\n",
    }
    return [
        *(
            {
                "name": misconception.name,
                "source": planted(SOURCE, misconception) + REPORT,
                "loses": list(misconception.loses),
            }
            for misconception in MISCONCEPTIONS
        ),
        *(
            {"name": name, "source": SOURCE + REPORT + after, "loses": ["report"]}
            for name, after in reports.items()
        ),
        {"name": "any text", "source": SOURCE + REPORT, "loses": []},
    ]
