"""What a question kind is: what is asked, and a pure judgement of what came of it.

For each submission a `Check` says which variables to read in the student's box (`plan`), or which tests to
run (`cell_tests`); the reference solution was asked in a box of its own (`reference_plan`). `judge` compares
outside, without any sandbox.
"""

from __future__ import annotations

import hashlib
import hmac
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from autograder.records import Answer, Call, CellOutcome, CellTest, ItemResult, Observation, Scenario
from autograder.rubric import Question, Rubric
from autograder.stream import derived

Observations = tuple[Observation, ...]
"""The observations of one scenario, one per call."""


class Draw(Struct, frozen=True):
    """The source of hidden inputs for one question: the same for every submission of one course run.

    The seed is HMAC-SHA256(course secret, assignment, the question's ``inputs_version``, question), so nobody
    without the secret can predict an input, and grading again draws the same ones, whatever else of the
    rubric has changed. Where the rubric says ``redraw``, the student's id or the attempt's digest is among
    what it is made of.
    """

    seed: bytes

    @classmethod
    def for_question(cls, secret: bytes, rubric: Rubric, question: Question, own: str = "") -> Draw:
        """The draw of one question.

        Args:
            secret: the course's.
            rubric: that was sat.
            question: of it.
            own: whose draw it is, where not everybody has the same (`draw_scope`).
        """
        text = f"{rubric.assignment.name}\x00{question.inputs_version}\x00{question.id}".encode()
        seed = hmac.new(secret, text, hashlib.sha256).digest()
        return cls(derived(seed, "own draw", own) if own else seed)

    def generator(self, purpose: str) -> np.random.Generator:
        """A generator of its own for each purpose, so that adding one draw does not move the others."""
        digest = hmac.new(self.seed, purpose.encode(), hashlib.sha256).digest()
        return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))


def draw_scope(rubric: Rubric, student: str, attempt: str) -> str:
    """Whose hidden inputs a submission meets: empty where all meet the same.

    Args:
        rubric: of the assignment.
        student: the id, in its canonical form.
        attempt: SHA-256 of what was handed in.
    """
    return {"never": "", "student": f"student {student}", "attempt": f"attempt {attempt}"}[
        rubric.assignment.redraw
    ]


SAMPLE = Draw(b"sample")
"""A draw without a secret, to find errors in a rubric when it is read."""


class Evidence(Struct, frozen=True, eq=False):
    """All that a judgement may look at."""

    answer: Answer
    observed: Sequence[Observations]
    """One entry per scenario of the plan, in order; shorter when the run was cut off."""
    expected: Sequence[Observations] = ()
    """The reference's, one entry per scenario of ``reference_plan``."""
    earlier: Mapping[str, ItemResult] = {}
    """Results of questions before this one, by ``"question.item"``."""
    answers: Mapping[str, Answer] = {}
    """All answers of the notebook by grade_id, for items that stand in a cell of their own."""
    cells: Sequence[str] = ()
    """The sources of the student's other code cells and modules, for what an answer reaches there."""
    draw: Draw | None = None
    """The draw that plan and reference plan were made with, so that sizes can be named."""
    ask_reference: Callable[[Call], Observation] | None = None
    """Calls the reference about plain data of the answer; it raises if that is not possible."""
    tests: Mapping[str, CellOutcome] = {}
    """What came of test cells, by name; see `Check.cell_tests`."""


TRIVIAL = "answers without any work"
"""The family of trials that must lose nothing in particular: `verify` warns of what they keep."""


class Trial(Struct, frozen=True, forbid_unknown_fields=True):
    """A planted answer to one question, and what it must lose: what proves that a check can fail.

    An item is lost when it does not end with full points; one with negative points when it fails; one that
    a person decides on when it waits for nobody. Every other item of the assignment must be kept.
    """

    name: str
    """What was planted, in a few words; no other trial of the question has this name."""
    source: str = ""
    """Stands in the place of the answer key's answer cell; where only `files` are stated, the key's stays."""
    loses: tuple[str, ...] = ()
    """Ids of the items that are lost, with those that need them; none: an accepted alternative."""
    points: Mapping[str, Decimal] = {}
    """What a lost item still earns, where that is known."""
    codes: Mapping[str, str] = {}
    """The code of a lost item's result, where that is known: of a mistake that the rubric names."""
    unstated: tuple[str, ...] = ()
    """Items of the question about which the trial says nothing: they judge the same value in another way."""
    earlier: Mapping[str, str] = {}
    """Question id → code below the key's answer to it (in a text cell: instead of it), for results that are
    carried forward from there."""
    files: Mapping[str, bytes | None] = {}
    """Path → what is handed in there instead of the answer key's file; None: nothing."""
    loses_any: bool = False
    """At least one item of the question is lost; which is not stated in `loses`."""
    review: tuple[str, ...] = ()
    """Ids of items that need manual review, because the check cannot decide."""
    told_as: str = ""
    """The code of at least one lost item's result; `verify` warns if there is none."""
    family: str = ""
    """Trials of one family are shown as one line."""


class Check(ABC):
    """One question, ready to be asked and judged; made once per question and rubric."""

    kind: ClassVar[str]
    question_type: type[Any]
    """The record of the question's options."""
    item_type: type[Any]
    """The record of the options of its items."""
    runs_tests: ClassVar[bool] = False
    """Its items are tests, which run while the notebook stands at their place; see `cell_tests`."""

    @abstractmethod
    def plan(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """The variables to read in the student's box; empty when the answer's text is enough."""

    def reference_plan(self) -> tuple[Scenario, ...]:
        """The calls to make in the reference's box; empty when nothing is needed.

        There the rubric's ``reference = "module:name"`` is bound to the name the student assigns
        (`Question.answer`).
        """
        return ()

    @property
    def after(self) -> str:
        """The grade_id of the cell before which tests run; empty: after the last one."""
        return ""

    def cell_tests(self, draw: Draw) -> Mapping[str, CellTest]:
        """Return the test of each item, by its id; several of one item have names of their own.

        Args:
            draw: of the question's hidden inputs.
        """
        del draw
        return {}

    def trials(self, key: Answer) -> Sequence[Trial]:
        """Return answers that must lose exactly what they say, and alternatives, which lose nothing.

        Args:
            key: the answer key's answer, which is right.
        """
        del key
        return ()

    def is_unanswered(self, answer: Answer) -> bool:
        """Return whether there is nothing to test."""
        del answer
        return False

    def is_in_text(self, text: str) -> bool:
        """Return whether a text contains what looks like an answer, right or wrong."""
        del text
        return False

    @abstractmethod
    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item, in the rubric's order. Raises nothing but what `ask_reference` raises."""


def trials_of(check: Check, key: Answer) -> tuple[Trial, ...]:
    """The trials that a check makes by itself.

    Where two have one name, as mistakes that are stated twice, the later one is numbered.
    """
    made: dict[str, Trial] = {}
    for trial in check.trials(key):
        name, number = trial.name, 1
        while name in made:
            number += 1
            name = f"{trial.name} ({number})"
        made[name] = replace(trial, name=name)
    return tuple(made.values())
