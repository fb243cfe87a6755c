"""Asks once more where a function calls earlier ones that are wrong, with the reference's results for those.

Code of the reference never comes near student code. The student's box is asked first which arguments the
earlier functions are called with; the reference is called with these in its own box; and then the student's
calls are made again, in a fresh box, where a table of these results stands in for the functions. Arguments
may follow from results, so this goes on until every result is known. See docs/security.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from autograder.assignment import Assignment
from autograder.checks.base import CarriesForward, Evidence, Observations
from autograder.checks.judging.carried import (
    ArgumentsSeen,
    KnownResult,
    answers_apart,
    is_data,
    seen,
    standing_in,
    without_gradients,
)
from autograder.grading.expected import import_reference, reference_of
from autograder.records import Call, Note, Observation, Scenario
from autograder.rubric import Question
from autograder.sandbox.pool import Pool
from autograder.sandbox.retry import retry_infrastructure

NOT_CARRIED = "not-carried"
"""The code of a note about an answer that could not be judged with right results of earlier functions."""
MOST_ROUNDS = 40
"""So many times the student's calls are made at most: calls that follow from one another need one each."""
MOST_CALLS = 1000
"""Calls of earlier functions in one question."""

Ask = Callable[[tuple[Scenario, ...]], Sequence[Observations]]


def carried_forward(
    check: CarriesForward, question: Question, evidence: Evidence, ask: Ask, right: RightResults
) -> tuple[Evidence, tuple[Note, ...]]:
    """The evidence with what the answer gives where earlier functions that are wrong are right; and notes.

    Args:
        check: of the question.
        question: that is judged.
        evidence: as it is judged with all of the student's own functions.
        ask: carries out scenarios in boxes of the student's.
        right: what the reference makes of arguments.
    """
    replaced = check.to_replace(evidence)
    if not replaced:
        return evidence, ()
    functions = {one.answer: one for one in replaced}
    plan = check.carried_plan(evidence.answer, evidence.drawn)
    known: dict[tuple[str, str], KnownResult] = {}
    own = True
    for _ in range(MOST_ROUNDS):
        observed = ask(standing_in(plan, [*functions], known, own=own))
        asked = {
            (one.name, one.key): one
            for one in seen(observed, [*functions])
            if (one.name, one.key) not in known
        }
        if not asked and own and any(one.ending for some in observed for one in some):
            own = False  # what ends the box may be the function that is wrong
            continue
        if not asked:
            return (replace(evidence, carried=answers_apart(observed)) if known else evidence), ()
        if len(known) + len(asked) > MOST_CALLS:
            break
        found = right.of(functions, asked, plan)
        if len(found) < len(asked):
            break
        known |= found
    names = ", ".join(functions)
    text = f"the calls of {names} are too many, or take the reference too long; judged with the student's own"
    return evidence, (Note(NOT_CARRIED, text, question.id),)


class RightResults:
    """What the reference's functions give when they are called with arguments that student code chose.

    So they may fail and take long: that is no fault of the course. They have as much time as the student's
    calls. It is made for one question of one submission.
    """

    def __init__(self, assignment: Assignment, pool: Pool, seed: int) -> None:
        self._assignment = assignment
        self._pool = pool
        self._seed = seed
        self._left: float | None = None

    def of(
        self,
        functions: Mapping[str, Question],
        asked: Mapping[tuple[str, str], ArgumentsSeen],
        plan: Sequence[Scenario],
    ) -> dict[tuple[str, str], KnownResult]:
        """What comes of each call, without those that were not made in time or whose result is no data.

        Args:
            functions: the questions of the functions, by name.
            asked: the calls.
            plan: of the question that is judged.

        Raises:
            CourseError: the reference cannot be imported.
            SandboxFault: our side failed more often than is made up for.
        """
        calls = [call for scenario in plan for call in scenario.calls]
        limits = self._assignment.rubric.assignment.limits
        if self._left is None:
            self._left = limits.call_seconds * len(calls)
        dtype = next((call.default_dtype for call in calls if call.default_dtype), "")
        scenarios = [
            Scenario(
                f"{functions[one.name].id}: carried forward",
                (Call(one.name, args=one.args, kwargs=one.kwargs, seed=0, grad=True, default_dtype=dtype),),
            )
            for one in asked.values()
        ]
        if self._left <= 0:
            return {}
        observed = retry_infrastructure(lambda: self._once(functions, scenarios))
        found = {}
        for name, observations in zip(asked, observed, strict=False):
            one = _known(observations[0]) if observations else None
            if one is not None:
                found[name] = one
        return found

    def _once(
        self, functions: Mapping[str, Question], scenarios: Sequence[Scenario]
    ) -> Sequence[Observations]:
        limits = self._assignment.rubric.assignment.limits
        box = self._pool.persistent(self._assignment.reference_environment()).open(limits, seed=self._seed)
        try:
            for question in functions.values():
                import_reference(box, reference_of(question), limits)
            return box.ask(scenarios, seconds=limits.call_seconds, total=self._left or 0.0)
        finally:
            used = box.close().processor_seconds
            self._left = (self._left or 0.0) - used


def _known(observation: Observation) -> KnownResult | None:
    if observation.ok:
        return KnownResult(without_gradients(observation.value)) if is_data(observation.value) else None
    return KnownResult(raised=True) if observation.error else None
