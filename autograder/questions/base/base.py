"""The interface of a question kind: plan the calls to make, then judge the observations.

For each submission a `Check` names the variables to read in the student's sandbox (`plan_calls`), or the
tests to run (`make_cell_tests`); the reference solution runs in a separate sandbox (`plan_reference_calls`).
`judge` is pure and compares outside, without any sandbox.
"""

from __future__ import annotations

import hashlib
import hmac
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.records import Answer, Call, CellOutcome, CellTest, ItemResult, Observation
from autograder.core.stream import derive_key
from autograder.rubric import Question, Rubric


class Draw(Struct, frozen=True):
    """The source of hidden inputs for one question: the same for every submission of one course run.

    The seed is HMAC-SHA256(course secret, assignment, the question's ``inputs_version``, question). An input
    cannot be predicted without the secret, and regrading draws the same inputs even if the rest of the rubric
    has changed. If the rubric sets ``redraw``, the student's id or the digest of the attempt is mixed in.
    """

    seed: bytes

    @classmethod
    def from_secret(cls, secret: bytes, rubric: Rubric, question: Question, scope: str = "") -> Draw:
        """Derive the draw of one question from the course secret.

        Args:
            secret: of the course.
            rubric: of the assignment that the student took.
            question: of the rubric.
            scope: of an individual draw (`find_draw_scope`); empty: the draw that all submissions share.
        """
        # NUL separates the parts, so that no two questions have the same text.
        text = f"{rubric.assignment.name}\x00{question.inputs_version}\x00{question.id}".encode()
        seed = hmac.new(secret, text, hashlib.sha256).digest()
        return cls(derive_key(seed, "own draw", scope) if scope else seed)


def find_draw_scope(rubric: Rubric, student: str, attempt: str) -> str:
    """Return the scope of a submission's hidden inputs; empty if all submissions share them.

    Args:
        rubric: of the assignment.
        student: the id, in its canonical form.
        attempt: SHA-256 of the submission.
    """
    return {"never": "", "student": f"student {student}", "attempt": f"attempt {attempt}"}[
        rubric.assignment.redraw
    ]


SAMPLE = Draw(b"sample")
"""A draw without a secret, to find errors in a rubric when it is read."""


class Evidence(Struct, frozen=True, eq=False):
    """All the input of a judgement."""

    answer: Answer
    observed: Sequence[Observation]
    """One entry per call of the plan, in order; shorter when the run was cut off."""
    expected: Sequence[Observation] = ()
    """Observations of the reference, one per call of `Check.plan_reference_calls`."""
    earlier: Mapping[str, ItemResult] = {}
    """Results of questions before this one, by ``"question.item"``."""
    answers: Mapping[str, Answer] = {}
    """All answers of the notebook by grade_id, for items that have a separate cell."""
    cells: Sequence[str] = ()
    """The sources of the student's other code cells and modules, which the answer may use."""
    draw: Draw | None = None
    """The draw that both plans were made with, so that sizes can be named."""
    ask_reference: Callable[[Call], Observation] | None = None
    """Calls the reference with plain data from the answer; raises if that is not possible."""
    tests: Mapping[str, CellOutcome] = {}
    """Outcomes of test cells, by name; see `Check.make_cell_tests`."""


TRIVIAL = "answers without any work"
"""The family of trials without a required loss: `verify` warns about the points that they keep."""


class Trial(Struct, frozen=True, forbid_unknown_fields=True):
    """A planted answer to one question and what it must lose: the proof that a check can fail.

    An item is lost if it does not end with full points; an item with negative points, if it fails; an item
    that is graded manually, if it does not wait for manual review. Every other item of the assignment must be
    kept.
    """

    name: str
    """A short description of the planted answer, unique among the trials of the question."""
    source: str = ""
    """Replaces the answer cell of the answer key; if only `files` are given, the key's cell is kept."""
    loses: tuple[str, ...] = ()
    """Ids of the items that are lost, including those that depend on them; empty: an accepted alternative."""
    points: Mapping[str, Decimal] = {}
    """The points that a lost item still earns, if they are known."""
    codes: Mapping[str, str] = {}
    """The code of a lost item's result, if it is known: that of a mistake that the rubric names."""
    unstated: tuple[str, ...] = ()
    """Items of the question about which the trial says nothing: they judge the same value in another way."""
    earlier: Mapping[str, str] = {}
    """Question id → code appended to the key's answer to it (in a text cell: replacing it), for results that
    are carried forward from there."""
    files: Mapping[str, bytes | None] = {}
    """Path → contents submitted instead of the answer key's file; None: no file."""
    loses_any: bool = False
    """At least one item of the question is lost; `loses` does not say which."""
    review: tuple[str, ...] = ()
    """Ids of items that need manual review, because the check cannot decide."""
    told_as: str = ""
    """The code of at least one lost item's result; `verify` warns if no result has it."""
    family: str = ""
    """Trials of one family are shown in one line."""


class Check(ABC):
    """One question, ready to be planned and judged; made once per question and rubric."""

    kind: ClassVar[str]
    question_type: type[Any]
    """The record type of the question's options."""
    item_type: type[Any]
    """The record type of the options of its items."""
    runs_tests: ClassVar[bool] = False
    """Whether its items are tests, which run at their position in the notebook; see `make_cell_tests`."""

    @abstractmethod
    def plan_calls(self, answer: Answer) -> tuple[Call, ...]:
        """Return the variables of an answer to read in the student's sandbox; empty if its text is enough."""

    def plan_reference_calls(self) -> tuple[Call, ...]:
        """Return the calls to make in the reference's sandbox; empty if none are needed.

        There the rubric's ``reference = "module:name"`` is bound to the name that the student assigns
        (`Question.answer`).
        """
        return ()

    @property
    def after(self) -> str:
        """The grade_id of the cell before which tests run; empty: they run after the last cell."""
        return ""

    def make_cell_tests(self, draw: Draw) -> Mapping[str, CellTest]:
        """Return the test of each item, by its id; further tests of the same item have other names.

        Args:
            draw: of the question's hidden inputs.
        """
        del draw
        return {}

    def make_trials(self, key: Answer) -> Sequence[Trial]:
        """Return wrong answers, which must lose exactly what they declare, and accepted alternatives.

        Args:
            key: the answer in the answer key, which is right.
        """
        del key
        return ()

    def is_unanswered(self, answer: Answer) -> bool:
        """Return whether there is nothing to test."""
        del answer
        return False

    def is_in_text(self, text: str) -> bool:
        """Return whether a text contains something that looks like an answer, right or wrong."""
        del text
        return False

    @abstractmethod
    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """Return one result per item, in the rubric's order.

        Raises only what `Evidence.ask_reference` raises.
        """


def list_trials(check: Check, key: Answer) -> tuple[Trial, ...]:
    """Return the trials that a check makes itself, with unique names.

    If two have the same name, such as two mistakes with the same code, the later one is numbered.
    """
    trials: dict[str, Trial] = {}
    for trial in check.make_trials(key):
        name, number = trial.name, 1
        while name in trials:
            number += 1
            name = f"{trial.name} ({number})"
        trials[name] = replace(trial, name=name)
    return tuple(trials.values())
