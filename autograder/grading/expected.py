"""Expected values: the reference solution, asked the same as the students, in a sandbox of its own.

Computed once per rubric, reference and secret, and kept in the course's private folder (mode 0600). All
variants of a class are asked in one box, and questions that several variants ask alike are asked once.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from autograder import atomic
from autograder.assignment import Assignment
from autograder.checks.base import Observations
from autograder.errors import BoxEnded, CourseError
from autograder.grading_version import list_versions
from autograder.records import Call, Limits, Observation, Scenario
from autograder.rubric import Question
from autograder.sandbox.base import Box
from autograder.sandbox.exchange import values, wire
from autograder.sandbox.pool import Pool
from autograder.sandbox.retry import retry_infrastructure

Expected = Mapping[str, Sequence[Observations]]
"""Question id → the reference's observations, one entry per scenario of its plan."""

MOST_SECONDS = 604_800
"""The most processor time any box is given."""
REFERENCE_TIME_FACTOR = 10
"""So many times a student's time is allowed: a loop without end is found, a busy machine stops no class."""
_CHECKSUM = hashlib.sha256().digest_size
_LENGTH = 8
"""Bytes of the length of a part."""
_REFERENCE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)")
_NAME = re.compile(r"[A-Za-z_]\w*")


def expected_values(
    assignment: Assignment, secret: bytes, pool: Pool, variants: Sequence[Assignment] = ()
) -> tuple[Expected, ...]:
    """The expected observations of every question that has a reference; cached on disk.

    Args:
        assignment: the common one.
        secret: the course's.
        pool: gives the reference's sandbox, where something is not known yet.
        variants: the same assignment as students were asked it.

    Returns:
        What is expected of the common assignment, then of each variant.

    Raises:
        CourseError: a reference solution is missing, raises, or ends its box.
    """
    plans: dict[str, _ReferencePlan] = {}
    names = [_plans(one, assignment, plans) for one in (assignment, *variants)]
    path = assignment.course.private / "expected" / f"{_key(assignment, secret, plans)}.values"
    found = _load(path, plans)
    if found is None:
        found = _compute(assignment, plans, pool)
        keep(path, found)
    return tuple({question: found[name] for question, name in own.items()} for own in names)


def box_seed(secret: bytes, name: str) -> int:
    """The seed of every box of an assignment: drawn from the secret, the same for all students."""
    return int.from_bytes(hashlib.sha256(secret + b"\0seed\0" + name.encode()).digest()[:4], "little")


class _ReferencePlan(Struct, frozen=True, eq=False):
    """What the reference is asked for one question of one variant, or of several alike."""

    question: Question
    scenarios: tuple[Scenario, ...]
    asked: str
    """SHA-256 of it, so that equal plans are found."""


def _plans(assignment: Assignment, common: Assignment, plans: dict[str, _ReferencePlan]) -> dict[str, str]:
    """Add the plans of an assignment that are not among ``plans`` yet.

    Returns:
        The name of each question's plan: the question's own id, where everybody is asked alike.
    """
    names = {}
    for question in assignment.rubric.questions:
        check = assignment.checks[question.id]
        if check is common.checks[question.id] and question.id in plans:
            names[question.id] = question.id
            continue
        scenarios = check.reference_plan()
        if scenarios and not question.reference:
            raise CourseError(
                f"question {question.id!r}: a reference is needed; state reference = 'module:name'"
            )
        if scenarios:
            plan = _ReferencePlan(question, scenarios, asked_digest(question, scenarios))
            of_all = plan if assignment is common else plans.get(question.id)
            alike = of_all is not None and of_all.asked == plan.asked
            names[question.id] = question.id if alike else f"{question.id} {plan.asked}"
            plans.setdefault(names[question.id], plan)
    return names


def asked_digest(question: Question, scenarios: tuple[Scenario, ...]) -> str:
    """SHA-256 of all that the reference is asked, and who is asked."""
    encoder = values.TrustedEncoder()
    tree = [[one.name, *(values.call_tree(call, encoder) for call in one.calls)] for one in scenarios]
    asked = {"reference": question.reference, "answer": question.answer, "asked": tree}
    return hashlib.sha256(b"".join(wire.pack(asked, encoder.arrays))).hexdigest()


def for_many(limits: Limits, times: int) -> Limits:
    """The limits of a box that does the work of several: they bound faults of ours, not students' code."""
    seconds = limits.processor_seconds * max(times, 1)
    return replace(limits, processor_seconds=min(seconds, MOST_SECONDS))


def _compute(
    assignment: Assignment, plans: Mapping[str, _ReferencePlan], pool: Pool
) -> dict[str, Sequence[Observations]]:
    if not plans:
        return {}
    return retry_infrastructure(lambda: _compute_once(assignment, plans, pool))


def _compute_once(
    assignment: Assignment, plans: Mapping[str, _ReferencePlan], pool: Pool
) -> dict[str, Sequence[Observations]]:
    environment = assignment.reference_environment()
    limits = for_many(assignment.rubric.assignment.limits, len(plans))
    box = pool.persistent(environment).open(limits)
    try:
        return {name: _ask(box, plan.question, plan.scenarios, limits) for name, plan in plans.items()}
    finally:
        box.close()
        pool.end(environment)


def _ask(box: Box, question: Question, plan: tuple[Scenario, ...], limits: Limits) -> Sequence[Observations]:
    """Ask what the student is asked, under the name the student assigns."""
    return ask_reference(box, reference_of(question), plan, limits)


def ask_once(assignment: Assignment, question: Question, call: Call, pool: Pool, seed: int) -> Observation:
    """Return what the reference answers about one submission, in a box of its own; never cached.

    Raises:
        CourseError: the reference is missing, raises, or ends its box.
        SandboxFault: our side failed more often than is made up for.
    """
    limits = assignment.rubric.assignment.limits

    def once() -> Observation:
        box = pool.persistent(assignment.reference_environment()).open(limits, seed=seed)
        try:
            plan = (Scenario(f"{question.id}: about an answer", (call,)),)
            return _ask(box, question, plan, limits)[0][0]
        finally:
            box.close()

    return retry_infrastructure(once)


class ReferenceObject(Struct, frozen=True):
    """Something of the reference folder.

    Attributes:
        where: how errors name the place that speaks of it.
        reference: ``module:name``.
        name: what a plan calls it.
    """

    where: str
    reference: str
    name: str

    @property
    def import_line(self) -> str:
        """What imports it, where the reference folder can be imported from.

        Raises:
            CourseError: it is no ``module:name``.
        """
        match = _REFERENCE.fullmatch(self.reference)
        if not match or not _NAME.fullmatch(self.name):
            raise CourseError(
                f"{self.where}: expected 'module:name' and a name for it; "
                f"got {self.reference!r} and {self.name!r}"
            )
        return f"from reference.{match[1]} import {match[2]} as {self.name}"


def reference_of(question: Question) -> ReferenceObject:
    """What computes the right results of a question, under the name the student assigns."""
    return ReferenceObject(f"question {question.id!r}: reference", question.reference, question.answer)


def import_reference(box: Box, named: ReferenceObject, limits: Limits) -> None:
    """Import something of the reference folder under a name.

    Args:
        box: of the reference's environment.
        named: what is imported.
        limits: how long a cell of a student's may take.

    Raises:
        CourseError: it is missing, raises, or ends its box.
    """
    source = named.import_line
    where = f"{named.where}: {named.reference!r}"
    try:
        run = box.run_cell(source, seconds=REFERENCE_TIME_FACTOR * limits.cell_seconds)
    except BoxEnded as ended:
        raise CourseError(f"{where} ended its box: {ended}") from ended
    if run.error:
        text = next((out.data.get("text/plain", "") for out in run.outputs if out.kind == "error"), run.error)
        # Without a frame of a file, nothing in the reference ran: the name itself is wrong.
        why = f"\n{text}" if "File " in text else f" {text.strip().splitlines()[-1]}"
        raise CourseError(f"{where} cannot be imported:{why}")


def ask_reference(
    box: Box, named: ReferenceObject, plan: tuple[Scenario, ...], limits: Limits
) -> Sequence[Observations]:
    """Import something of the reference folder under a name, and carry out a plan that must not fail.

    Args:
        box: of the reference's environment.
        named: what is imported.
        plan: what to ask.
        limits: how long a cell and a call of a student's may take.

    Raises:
        CourseError: it is missing, raises, or ends its box.
    """
    import_reference(box, named, limits)
    where = f"{named.where}: {named.reference!r}"
    observed = box.ask(plan, seconds=REFERENCE_TIME_FACTOR * limits.call_seconds)
    for scenario, observations in zip(plan, observed, strict=False):
        for one in observations:
            if one.ending:
                raise CourseError(f"{where} ended its box in {scenario.name!r}: {one.ending.value}")
            if not one.ok:
                raise CourseError(f"{where} failed in {scenario.name!r}: {one.error}: {one.message}")
    return observed


# ---------------------------------------------------------------- on disk


def _key(assignment: Assignment, secret: bytes, plans: Mapping[str, _ReferencePlan]) -> str:
    # What is asked, and not its name alone: of a changed program it may be something else.
    asked = sorted(f"{name} {plan.asked}" for name, plan in plans.items())
    return cache_key(assignment, secret, ["format 3", *asked])


def cache_key(assignment: Assignment, secret: bytes, parts: Sequence[str]) -> str:
    """The name of a file of computed values: made of all that they depend on.

    Args:
        assignment: for the rubric, the reference and what it is computed with.
        secret: the course's.
        parts: what else they depend on.
    """
    versions = list_versions(assignment.rubric.assignment.preload)
    course = (assignment.course.reference_digest(), assignment.files_digest())
    all_parts = [assignment.rubric.digest, *course, *versions, *parts]
    return hashlib.sha256(secret + "\n".join(all_parts).encode()).hexdigest()


def keep(path: Path, *parts: Expected) -> None:
    """Store observations, none of which is of an ending; readable by their owner alone.

    Args:
        path: of the file.
        parts: each is bounded by itself, as a message of a box is.
    """
    packed = [_packed(one) for one in parts]
    stored = b"".join(len(one).to_bytes(_LENGTH, "big") + one for one in packed)
    with contextlib.suppress(OSError):  # not kept: then it is computed again next time
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic.write(path, hashlib.sha256(stored).digest() + stored, mode=0o600)


def kept(path: Path) -> dict[str, Sequence[Observations]] | None:
    """The stored observations of all parts; None when there are none, or they are damaged.

    Whatever is the matter with the file, they can be computed again.
    """
    try:
        data = atomic.read(path, most=1 << 30)
        sound, stored = data[:_CHECKSUM], data[_CHECKSUM:]
        if hashlib.sha256(stored).digest() != sound:
            return None
        found: dict[str, Sequence[Observations]] = {}
        at = 0
        while at < len(stored):
            end = at + _LENGTH + int.from_bytes(stored[at : at + _LENGTH], "big")
            found |= _unpacked(stored[at + _LENGTH : end])
            at = end
    except Exception:  # noqa: BLE001 - see above
        return None
    return found


def _packed(expected: Expected) -> bytes:
    encoder = values.TrustedEncoder()
    tree = {
        question: [[values.encode_observation(one, encoder) for one in scenario] for scenario in scenarios]
        for question, scenarios in expected.items()
    }
    return b"".join(wire.pack({"expected": tree}, encoder.arrays))


def _unpacked(stored: bytes) -> dict[str, Sequence[Observations]]:
    _, json_length, _ = wire.HEADER.unpack_from(stored)
    start = wire.HEADER.size
    message, arrays = wire.unpack(stored[start : start + json_length], stored[start + json_length :])
    decoder = values.trusted_decoder(arrays)
    return {
        question: [
            tuple(values.decode_observation(one, decoder) for one in scenario) for scenario in scenarios
        ]
        for question, scenarios in message["expected"].items()
    }


def _load(path: Path, plans: Mapping[str, _ReferencePlan]) -> dict[str, Sequence[Observations]] | None:
    """The stored values; None when there are none, they are damaged, or they do not fit the plans."""
    found = kept(path)
    shapes = {name: [len(one.calls) for one in plan.scenarios] for name, plan in plans.items()}
    if found is None or shapes != {name: [len(one) for one in some] for name, some in found.items()}:
        return None
    return found
