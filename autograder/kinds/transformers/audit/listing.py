"""The form ``listing``: findings about a text, each proved by inputs on which it violates its definition."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from autograder.checks.base import Draw, Evidence, Observations, SecondRound
from autograder.checks.judging.results import (
    Finding,
    failed,
    first_failure,
    no_answer,
    observations_at,
    reference_value,
    review,
)
from autograder.checks.values.quoting import quote_value, type_name
from autograder.kinds.transformers.audit.options import AuditItem, AuditQuestion, Input
from autograder.records import Call, Message, Ref, Scenario, Status, Tensor
from autograder.rubric import Item, Question

_LINE = re.compile(r"(?:lines?|zeilen?)?\s*(\d{1,5})(?:\s*(?:-|–|to|bis)\s*(\d{1,5}))?")
MOST_LINES = 5
"""So many lines may be named at once; more are no place."""


class FaultLocation(Struct, frozen=True):
    """Where a fault or a remark sits, as the reference says."""

    lines: tuple[int, ...]
    names: tuple[str, ...]


class Site(Struct, frozen=True):
    """Where a fault or a remark sits: line numbers from 1, and names of the component."""

    lines: frozenset[int]
    names: frozenset[str]

    @classmethod
    def of(cls, told: FaultLocation) -> Site:
        """From what the reference says."""
        return cls(frozenset(told.lines), frozenset(_plain(name.replace("-", " ")) for name in told.names))

    def met_by(self, place: Any) -> bool:
        """Whether a student's words name it: a line number, a few lines, or a component."""
        if isinstance(place, bool) or not isinstance(place, int | str):
            return False
        if isinstance(place, int):
            return place in self.lines
        text = _plain(place[:200])
        match = _LINE.fullmatch(text)
        if match is None:
            return _plain(text.replace("-", " ")) in self.names
        first = int(match[1])
        last = int(match[2] or first)
        return 0 <= last - first < MOST_LINES and any(first <= line <= last for line in self.lines)


def _plain(name: str) -> str:
    """The same text for spellings of one name."""
    bare = name.strip().lower().removeprefix("the ").removeprefix("self.").removesuffix("()")
    return re.sub(r"[\s_]+", " ", bare.removeprefix("def ")).strip()


MAX_ENTRIES = 4096
"""Numbers in one input."""
LARGEST = 100.0
"""Of numbers. Above, scores may reach what listings write for minus infinity, or overflow."""
LARGEST_SIZE = 1024
NUDGE = 1e-9
"""Relative change of numbers that shows whether the definition hangs on rounding there."""

Inputs = Mapping[str, Tensor | int]


def read_inputs(value: Any, wanted: Sequence[Input], number: str) -> tuple[Inputs, Finding | None]:
    """The inputs by name, or why they are no evidence.

    Args:
        value: what the counterexample returned: a dictionary, or a tuple or list in order.
        wanted: the inputs of the listing.
        number: of the finding, for sentences.
    """
    names = ", ".join(one.name for one in wanted)
    if isinstance(value, list | tuple) and len(value) <= len(wanted):
        value = {one.name: part for one, part in zip(wanted, value, strict=False)}
    if not isinstance(value, dict) or not set(value) <= {one.name for one in wanted}:
        got = type_name(value)
        return {}, failed("audit.inputs", f"finding {number}: {got}", number=number, names=names, got=got)
    made: dict[str, Tensor | int] = {}
    for one in wanted:
        given = value.get(one.name)
        if given is None and one.optional:
            continue
        array = _array(given)
        problem = _trouble(array, one)
        if array is None or problem:
            staff = f"finding {number}: {one.name}: {problem}: {type_name(given)}"
            params = {"number": number, "name": one.name, "got": type_name(given)}
            return {}, failed(f"audit.input.{problem}", staff, **params, axes=str(one.axes))
        made[one.name] = _as_wanted(array, one)
    return made, None


def nudged(inputs: Inputs) -> Inputs | None:
    """The inputs with all numbers moved by a billionth; None where there are no numbers."""
    moved: dict[str, Tensor | int] = {}
    for name, value in inputs.items():
        if isinstance(value, Tensor) and value.dtype == "float64":
            signs = 1.0 - 2.0 * (np.arange(value.array.size).reshape(value.array.shape) % 2)
            moved[name] = Tensor(value.array * (1.0 + NUDGE * signs), "float64")
    return {**inputs, **moved} if moved else None


def _array(value: Any) -> np.ndarray | None:
    array = value.array if isinstance(value, Tensor) else value
    if isinstance(array, bool | int | float | list | tuple):
        try:
            array = np.asarray(array)
        except (ValueError, TypeError, OverflowError):
            return None
    return array if isinstance(array, np.ndarray) and array.dtype.kind in "biuf" else None


def _trouble(array: np.ndarray | None, wanted: Input) -> str:
    """What is wrong with one input, as the end of a code; empty for nothing."""
    if array is None:
        return "type"
    if array.ndim > wanted.axes if wanted.type == "mask" else array.ndim != wanted.axes:
        return "axes"
    if not 1 <= array.size <= MAX_ENTRIES:
        return "entries"
    if not np.isfinite(array).all():
        return "finite"
    if wanted.type == "numbers":
        return "" if array.dtype.kind != "b" and np.abs(array.astype("f8")).max() <= LARGEST else "large"
    if wanted.type == "mask":
        return "" if np.isin(array, (0, 1)).all() else "mask"
    if array.dtype.kind not in "iu":
        return "type"
    least, most = (1, LARGEST_SIZE) if wanted.type == "size" else (-(1 << 31), 1 << 31)
    return "" if least <= int(array.min()) and int(array.max()) <= most else "range"


def _as_wanted(array: np.ndarray, wanted: Input) -> Tensor | int:
    if wanted.type == "size":
        return int(array)
    dtype = {"numbers": "float64", "integers": "int64", "mask": "bool"}[wanted.type]
    return Tensor(np.ascontiguousarray(array.astype(dtype)).reshape(array.shape), dtype)


MOST = 1e6
STEADY = 1e-6
VIOLATED = 1e-4


class Defined(Struct, frozen=True, eq=False):
    """The definition's numbers on some inputs.

    Attributes:
        output: all of them.
        counted: which entries count; the shape of ``output``.
        scale: the largest number that counts, at least 1.
    """

    output: np.ndarray
    counted: np.ndarray
    scale: float


def defined(value: Any, moved: Any) -> Defined | Message:
    """The definition's outcome, or why the inputs are no evidence.

    Args:
        value: of the definition.
        moved: of the definition on inputs that are moved a little; None where nothing can be.

    Raises:
        ValueError: the reference gave something that is no outcome.
    """
    for one in (value, moved):
        if isinstance(one, dict) and isinstance(one.get("refused"), dict):
            if "en" not in one["refused"] or not all(
                isinstance(text, str) for text in one["refused"].values()
            ):
                raise ValueError("the reference refuses inputs without saying why")
            texts = {
                name: text.replace("{", "{{").replace("}", "}}") for name, text in one["refused"].items()
            }
            return Message("audit.refused", text=texts)
    output, counted = _arrays(value)
    if not counted.any():
        return Message("audit.nothing")
    largest = float(np.abs(output[counted]).max())
    if not largest <= MOST:
        return Message("audit.wild")
    found = Defined(output, counted, max(1.0, largest))
    if moved is not None and _distance(found, _arrays(moved)[0]) > STEADY:
        return Message("audit.unsteady")
    return found


def violates(found: Defined, value: Any) -> bool:
    """Whether what a variant gave is not what the definition says.

    Raises:
        ValueError: the reference gave something that is no outcome.
    """
    if isinstance(value, dict) and isinstance(value.get("raised"), str):
        return True
    return _distance(found, _arrays(value)[0]) > VIOLATED


def _distance(found: Defined, output: np.ndarray) -> float:
    """The largest difference that counts, in units of the scale; infinite where nothing can be compared."""
    if output.shape != found.output.shape:
        return float("inf")
    difference = np.abs(output[found.counted] - found.output[found.counted]).max() / found.scale
    return float(difference) if np.isfinite(difference) else float("inf")


def _arrays(value: Any) -> tuple[np.ndarray, np.ndarray]:
    output, counted = (value.get(name) if isinstance(value, dict) else None for name in ("output", "counted"))
    arrays = [one.array if isinstance(one, Tensor) else one for one in (output, counted)]
    first, second = arrays
    if not (isinstance(first, np.ndarray) and isinstance(second, np.ndarray)) or first.dtype.kind != "f":
        raise ValueError("the reference gave no outcome")
    if first.shape != second.shape or second.dtype.kind != "b":
        raise ValueError("the reference's outcome does not say which entries count")
    return first, second


DEFINITION, HANDED_OUT, ONLY = "definition", "handed out", "only "
"""The variants that the reference runs; ``"only x"`` has the fault ``x`` and no other."""
RIGHT = frozenset(("right", "correct", "richtig", "korrekt"))
FAULTY = frozenset(("faulty", "wrong", "incorrect", "fehlerhaft", "falsch"))
_BEFORE = 3
"""Scenarios before those of the findings: how many, the verdict, the remarks."""
_NOT_THERE = "IndexError"


class FaultClaim(Struct, frozen=True, eq=False):
    """One finding of a student, and what came of it."""

    number: str
    place: Any = None
    problem: Finding | None = None
    """Why its inputs are no evidence at all."""
    differs: bool = False
    """The listing as handed out violates the definition on its inputs."""
    exposes: frozenset[str] = frozenset()
    """Planted faults that violate it there alone."""


class ListingFacts(Struct, frozen=True):
    """What the reference says about the listing."""

    faults: Mapping[str, Site]
    remarks: Mapping[str, Site]


class _ReportedFaults(Struct, frozen=True):
    """The same, as it comes."""

    faults: dict[str, FaultLocation]
    remarks: dict[str, FaultLocation]


class ListingForm:
    """Plans and judges a question about a listing."""

    def __init__(self, question: Question, options: AuditQuestion) -> None:
        """Remember the question.

        Args:
            question: whose answer names the variable with the findings.
            options: of it.
        """
        self._question = question
        self._options = options
        self._name = question.answer

    def plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """The number of findings, the verdict, the remarks, and each finding in a scenario of its own."""
        del draw
        options, found, make = self._options, Ref("found"), Ref("make")
        reads = [
            Scenario(f"{self._question.id}: {name}", (Call(name, read=True),))
            for name in (options.verdict, options.remarks)
        ]
        findings = [
            Scenario(
                f"{self._question.id}: finding {number + 1}",
                (
                    Call(self._name, "__getitem__", args=(number,), keep=found.name, grad=True),
                    Call(found, "__getitem__", args=(0,)),
                    Call(found, "__getitem__", args=(1,), keep=make.name),
                    Call(make, seed=0, grad=True, default_dtype="float64"),
                ),
            )
            for number in range(options.most)
        ]
        count = Scenario(f"{self._question.id}: findings", (Call(self._name, "__len__", grad=True),))
        return (count, *reads, *findings)

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """Where the faults and remarks are."""
        del draw
        return (Scenario("facts", (Call(self._name, "facts"),)),)

    def second_round(self, evidence: Evidence) -> SecondRound:
        """Definition, listing and each fault alone, on the inputs of every finding that gave some."""
        facts, finding = self._facts(evidence)
        if facts is None or finding is not None:
            return SecondRound()
        runs = []
        for number in range(self._options.most):
            inputs, bad = self._inputs(evidence, number)
            if bad is None and inputs:
                runs.append(Scenario(f"finding {number + 1}", tuple(self._runs(inputs, facts))))
        return SecondRound(reference=tuple(runs))

    def _runs(self, inputs: Inputs, facts: ListingFacts) -> list[Call]:
        moved = nudged(inputs)
        asked = [(DEFINITION, inputs), (DEFINITION, inputs if moved is None else moved), (HANDED_OUT, inputs)]
        asked += [(f"{ONLY}{fault}", inputs) for fault in facts.faults]
        return [Call(self._name, "outcome", args=(variant, dict(given))) for variant, given in asked]

    def judge(self, item: Item, options: AuditItem, evidence: Evidence) -> Finding | None:
        """What is missing for full points; None where nothing is."""
        facts, bad = self._facts(evidence)
        if facts is None:
            return bad
        about = options.about or item.id
        if about not in {"fault": facts.faults, "remark": facts.remarks}.get(options.judges, (about,)):
            return review(f"the listing has no {options.judges} {about!r}")
        missing = first_failure(observations_at(evidence.observed, 0), 1, self._name, self._name)
        if missing is not None and options.judges != "remark":
            return missing
        if options.judges == "remark":
            return self._remark(facts.remarks[about], evidence)
        try:
            claims = self._claims(facts, evidence)
        except ValueError as error:
            return review(str(error))
        if options.judges == "fault":
            return _fault(about, facts, claims)
        if options.judges == "claims":
            return self._all_proved(facts, claims, evidence)
        return self._verdict(facts, claims, evidence)

    # ------------------------------------------------------------ what was claimed

    def _claims(self, facts: ListingFacts, evidence: Evidence) -> list[FaultClaim]:
        """Every finding, in order.

        Raises:
            ValueError: the reference's answers are not usable.
        """
        claims: list[FaultClaim] = []
        tried = 0
        for number in range(self._options.most):
            observations = observations_at(evidence.observed, _BEFORE + number)
            if not observations or (not observations[0].ok and observations[0].error == _NOT_THERE):
                break
            inputs, bad = self._inputs(evidence, number)
            place = observations[1].value if len(observations) > 1 and observations[1].ok else None
            claim = FaultClaim(str(number + 1), place, bad)
            if bad is None and inputs:
                claim = _tried(claim, facts, observations_at(evidence.tried, tried))
                tried += 1
            claims.append(claim)
        return claims

    def _inputs(self, evidence: Evidence, number: int) -> tuple[Inputs, Finding | None]:
        observations = observations_at(evidence.observed, _BEFORE + number)
        what = f"{self._name}[{number}]"
        bad = first_failure(observations, 4, self._name, what)
        if bad is not None:
            return {}, bad
        return read_inputs(observations[3].value, self._options.inputs, str(number + 1))

    def _facts(self, evidence: Evidence) -> tuple[ListingFacts | None, Finding | None]:
        value, bad = reference_value(observations_at(evidence.expected, 0), 0)
        if bad is not None:
            return None, bad
        try:
            told = msgspec.convert(value, _ReportedFaults, strict=True)
        except (msgspec.ValidationError, TypeError, ValueError) as error:
            return None, review(f"the reference does not say where the faults are: {error}")
        sites = (
            {name: Site.of(place) for name, place in part.items()} for part in (told.faults, told.remarks)
        )
        return ListingFacts(*sites), None

    # ------------------------------------------------------------ items

    def _verdict(
        self, facts: ListingFacts, claims: Sequence[FaultClaim], evidence: Evidence
    ) -> Finding | None:
        observations = observations_at(evidence.observed, 1)
        name = self._options.verdict
        bad = first_failure(observations, 1, name, name)
        if bad is not None:
            return bad
        said = observations[0].value
        word = said.strip().lower() if isinstance(said, str) else said
        if not isinstance(word, str) or word not in RIGHT | FAULTY:
            return failed("audit.verdict.unknown", name=name, got=quote_value(said))
        if word in RIGHT:
            if facts.faults:
                return failed("audit.verdict.faulty")
            return failed("audit.verdict.findings") if claims else None
        if not any(_proved(claim, facts) for claim in claims):
            return failed("audit.verdict.unproved")
        return failed("audit.guesses") if _guessed(claims, facts) else None

    def _all_proved(
        self, facts: ListingFacts, claims: Sequence[FaultClaim], evidence: Evidence
    ) -> Finding | None:
        """Every finding is a planted fault; where nothing is planted, there is none."""
        count = observations_at(evidence.observed, 0)[0].value
        if not isinstance(count, int) or isinstance(count, bool) or count < len(claims):
            return failed("audit.findings", name=self._name)
        if count > len(claims):
            return failed("audit.too-many", name=self._name, most=str(self._options.most))
        for claim in claims:
            if not _proved(claim, facts):
                return _why(claim)
        if claims or not facts.faults:
            return self._verdict(facts, claims, evidence) if not claims else None
        return no_answer("audit.no-findings")

    def _remark(self, site: Site, evidence: Evidence) -> Finding | None:
        name = self._options.remarks
        observations = observations_at(evidence.observed, 2)
        bad = first_failure(observations, 1, name, name)
        if bad is not None:
            return bad
        said = observations[0].value
        if not isinstance(said, list | tuple):
            return failed("audit.remarks", name=name, got=quote_value(said))
        if len(said) > self._options.most_remarks:
            return failed("audit.too-many", name=name, most=str(self._options.most_remarks))
        for number in range(self._options.most):
            observations = observations_at(evidence.observed, _BEFORE + number)
            if len(observations) > 1 and observations[1].ok and site.met_by(observations[1].value):
                return failed("audit.remark.claimed")
        if any(site.met_by(place) for place in said):
            return None
        return failed("audit.remark.missing") if said else no_answer("audit.no-remarks", name=name)


def _tried(claim: FaultClaim, facts: ListingFacts, observations: Observations) -> FaultClaim:
    values, bad = [], None
    for index in range(3 + len(facts.faults)):
        value, bad = reference_value(observations, index)
        if bad is not None:
            raise ValueError(bad.staff)
        values.append(value)
    found = defined(values[0], values[1])
    if isinstance(found, Message):
        staff = f"finding {claim.number}: {found.code}"
        return FaultClaim(claim.number, claim.place, Finding(Status.FAILED, _numbered(found, claim), staff))
    exposes = [name for name, value in zip(facts.faults, values[3:], strict=True) if violates(found, value)]
    return FaultClaim(claim.number, claim.place, None, violates(found, values[2]), frozenset(exposes))


def _numbered(message: Message, claim: FaultClaim) -> Message:
    return message if message.text else Message(message.code, {"number": claim.number})


def _proved(claim: FaultClaim, facts: ListingFacts) -> bool:
    """Whether the finding names a planted fault and its inputs expose that one."""
    return claim.differs and any(facts.faults[name].met_by(claim.place) for name in claim.exposes)


def _guessed(claims: Sequence[FaultClaim], facts: ListingFacts) -> bool:
    """Whether most findings are not proved: inputs that show everything, and all components named."""
    return sum(_proved(claim, facts) for claim in claims) * 2 < len(claims)


def _fault(about: str, facts: ListingFacts, claims: Sequence[FaultClaim]) -> Finding | None:
    named = [claim for claim in claims if facts.faults[about].met_by(claim.place)]
    if any(claim.differs and about in claim.exposes for claim in named):
        return failed("audit.guesses") if _guessed(claims, facts) else None
    if named:
        return _why(named[0])
    elsewhere = next((claim for claim in claims if claim.differs and about in claim.exposes), None)
    if elsewhere is not None:
        return failed("audit.place", number=elsewhere.number, place=quote_value(elsewhere.place))
    return failed("audit.not-found") if claims else no_answer("audit.no-findings")


def _why(claim: FaultClaim) -> Finding:
    """Why a finding is not proved."""
    if claim.problem is not None:
        return claim.problem
    if not claim.differs:
        return failed("audit.same", number=claim.number)
    return failed("audit.other", number=claim.number, place=quote_value(claim.place))
