"""What listings give for the hidden inputs: each is run like a student's answer, and what it gave is kept.

Hundreds of listings would spend most of their time on boxes of their own, so that several follow one another
in one box. They are the author's, and define the same names.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct

from autograder.assignment import Assignment
from autograder.checks.base import ENDED, Draw, HasListings, Observations, TrialResults
from autograder.errors import BoxEnded, CourseError
from autograder.grading.expected import (
    REFERENCE_TIME_FACTOR,
    Expected,
    asked_digest,
    box_seed,
    cache_key,
    for_many,
    keep,
    kept,
)
from autograder.grading.mistakes import Named, cells_before, read, written
from autograder.records import Observation, Scenario
from autograder.rubric import Question
from autograder.sandbox.base import Box, Sandbox
from autograder.sandbox.pool import Pool
from autograder.sandbox.retry import retry_infrastructure

WALL_SECONDS = 1800.0
"""For all listings of one question: what takes longer is refused, and nothing of it is kept."""
CALL_SECONDS = 0.5
"""Of processor time: a listing that takes longer hangs, and hundreds of them may."""
SLOWER = 10
"""Times the longest call of the right listing, where that is more: on a slow machine none hangs that does not
on a fast one."""
WORKERS = 2
"""Boxes at the same time."""
TOGETHER = 32
"""Listings that follow one another in one box."""


class _ListingPlan(Struct, frozen=True, eq=False):
    """The listings of one question, and what each is asked."""

    question: Question
    check: HasListings
    listings: Mapping[str, str]
    scenarios: tuple[Scenario, ...]
    name: str
    """Made of all of that."""


def listing_results(
    assignment: Assignment, secret: bytes, pool: Pool, asked: Sequence[tuple[Assignment, Expected]]
) -> tuple[Named, ...]:
    """What the listings of every question give that has some, for each of several assignments.

    Args:
        assignment: the common one.
        secret: the course's.
        pool: gives the sandboxes.
        asked: what was asked, with what is expected of it.

    Raises:
        CourseError: a listing cannot be made, or is not defined by running it, or all of them take longer
            than `WALL_SECONDS`; names the question.
        RubricError: nothing can be judged by what they give.
    """
    plans = [_plans(one, secret, expected) for one, expected in asked]
    every = {plan.name: plan for some in plans for plan in some}
    if not every:
        return tuple({} for _ in asked)
    given = sorted(hashlib.sha256(data).hexdigest() for data in assignment.release_bytes.values())
    key = cache_key(assignment, secret, [str(CALL_SECONDS), str(SLOWER), *sorted(every), *given])
    path = assignment.course.private / "expected" / f"{key}.listings"
    parts = {f"{name} {listing}": name for name, plan in every.items() for listing in plan.listings}
    stored = read(kept(path), parts)
    found: dict[str, tuple[TrialResults, ...]] = dict.fromkeys(every, ())
    if stored is not None:
        for part, name in parts.items():
            found[name] += stored[part]
    else:
        seed = box_seed(secret, assignment.name)
        found = {name: _compute(assignment, plan, pool, seed) for name, plan in every.items()}
        each = (one for name in every for one in found[name])
        keep(path, *({part: written((one,))} for part, one in zip(parts, each, strict=True)))
    for name, plan in every.items():
        plan.check.accept(found[name])
    return tuple({plan.question.id: found[plan.name] for plan in some} for some in plans)


def _plans(assignment: Assignment, secret: bytes, expected: Expected) -> list[_ListingPlan]:
    plans = []
    for question in assignment.rubric.questions:
        check = assignment.checks[question.id]
        if isinstance(check, HasListings):
            listings = check.listings(expected.get(question.id, ()))
            scenarios = check.listing_plan(Draw.for_question(secret, assignment.rubric, question))
            texts = "\0".join(part for pair in listings.items() for part in pair)
            digest = hashlib.sha256(f"{asked_digest(question, scenarios)}\0{texts}".encode()).hexdigest()
            plans.append(_ListingPlan(question, check, listings, scenarios, f"{question.id} {digest}"))
    return plans


def _compute(assignment: Assignment, plan: _ListingPlan, pool: Pool, seed: int) -> tuple[TrialResults, ...]:
    names = [name for name in plan.listings if name]
    groups = [names[at : at + TOGETHER] for at in range(0, len(names), TOGETHER)]
    environment = assignment.trial_environment(plan.question)
    try:
        sandbox = pool.persistent(environment)
        run = _ListingRun(assignment, plan, sandbox, seed)
        right = retry_infrastructure(run.right)
        with ThreadPoolExecutor(WORKERS) as threads:
            found = list(threads.map(lambda group: retry_infrastructure(lambda: run.group(group)), groups))
    finally:
        pool.end(environment)
    results = {result.code: result for group in ([right], *found) for result in group}
    return tuple(results[name] for name in plan.listings)


class _ListingRun:
    """Runs the listings of one question. Thread safe."""

    def __init__(self, assignment: Assignment, plan: _ListingPlan, sandbox: Sandbox, seed: int) -> None:
        self._plan, self._sandbox, self._seed = plan, sandbox, seed
        self._limits = for_many(assignment.rubric.assignment.limits, TOGETHER)
        self._before = tuple(cells_before(assignment, plan.question))
        self._until = time.monotonic() + WALL_SECONDS
        self._call_seconds = assignment.rubric.assignment.limits.call_seconds

    def right(self) -> TrialResults:
        """What the listing without a fault gives; the others have their time by it.

        Raises:
            CourseError: it cannot be run.
        """
        box, observed = self._listing("", None)
        longest = box.close().call_seconds if box else 0.0
        self._call_seconds = min(self._call_seconds, max(CALL_SECONDS, SLOWER * longest))
        return TrialResults("", {}, {}, observed)

    def group(self, names: Sequence[str]) -> list[TrialResults]:
        """What some listings give, all of them in one box as long as none ends it.

        Raises:
            CourseError: a listing cannot be run, or all of them take too long together.
        """
        box: Box | None = None
        results = []
        try:
            for name in names:
                self._refuse_late()
                box, observed = self._listing(name, box)
                results.append(TrialResults(name, {}, {}, observed))
        finally:
            if box is not None:
                box.close()
        return results

    def _listing(self, name: str, box: Box | None) -> tuple[Box | None, list[Observations]]:
        """What one listing gives, and the box for the next one."""
        scenarios = self._plan.scenarios
        found: dict[int, Observations] = {}
        left = list(range(len(scenarios)))
        while left:
            box = box or self._opened()
            self._define(name, box)
            observed = box.ask([scenarios[at] for at in left], seconds=self._call_seconds)
            found |= {at: _without_endings(some) for at, some in zip(left, observed, strict=False)}
            left, asked = left[len(observed) :], left
            if observed and observed[-1] and observed[-1][-1].ending is not None:
                box.close()
                box, hung = None, scenarios[asked[len(observed) - 1]].serves
                left = [at for at in left if scenarios[at].serves != hung]
        not_asked = (Observation(ok=False, error="Skipped"),)
        return box, [found.get(at, not_asked) for at in range(len(scenarios))]

    def _refuse_late(self) -> None:
        # The clock never chooses what is asked: all listings are run, or nobody is graded by them.
        if time.monotonic() > self._until:
            raise CourseError(
                f"question {self._plan.question.id!r}: its {len(self._plan.listings)} listings, with "
                f"{len(self._plan.scenarios)} probes each, were not run within {WALL_SECONDS:g} seconds, and "
                "nothing was kept; lower tries, or state fewer uses, fewer faults, or smaller inputs, or try "
                "again when the machine has less to do"
            )

    def _opened(self) -> Box:
        box = self._sandbox.open(self._limits, seed=self._seed)
        for source in self._before:
            box.run_cell(source, seconds=REFERENCE_TIME_FACTOR * self._limits.cell_seconds)
        return box

    def _define(self, name: str, box: Box) -> None:
        question = self._plan.question
        try:
            run = box.run_cell(self._plan.listings[name], seconds=self._limits.cell_seconds)
            error = run.error
        except BoxEnded as ended:
            error = str(ended)
        if error:
            faults = f"the faults {name}" if name else "no fault"
            raise CourseError(
                f"question {question.id!r}: the listing with {faults} cannot be run: {error}; the cells "
                "before it and the listing have to define all that is needed"
            )


def _without_endings(observations: Observations) -> Observations:
    """Endings are told as errors: they are not kept."""
    return tuple(
        Observation(ok=False, error=ENDED, message=one.ending.value) if one.ending is not None else one
        for one in observations
    )
