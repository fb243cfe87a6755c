"""Reads what a student claims about a listing, and finds out what their inputs prove.

A finding is a pair: the place of a fault, and a function that returns inputs on which the listing violates
its definition.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from autograder.checking import Wrong
from reference.audits.audit import DEFINITION, HANDED_OUT, ONLY, Audit, NoEvidence

Text = dict[str, str]
"""What students read, by language."""

MOST_FINDINGS = 5
MOST_REMARKS = 2
"""With more, all components could be named."""
MOST_LINES = 5
"""That one place may name."""
MOST_NUMBERS = 4096
"""In one input."""
LARGEST = 100.0
"""Of the numbers of an input; above, scores could reach what listings write for minus infinity."""
LARGEST_OUTPUT = 1e6
STEADY, VIOLATED = 1e-6, 1e-4
"""Differences, in units of the largest number: what rounding may cause, and what it cannot."""
NUDGE = 1e-9
"""By which inputs are changed, to see whether the definition hangs on rounding."""


# ---------------------------------------------------------------- places


def names_place(place: Any, site: Mapping[str, Any]) -> bool:
    """Return whether a place is a site: a line number, a few lines, or the name of a component.

    Args:
        place: of a finding or remark, as the student wrote it.
        site: ``lines`` and ``names``, from `Audit.facts`.
    """
    if type(place) is int:
        return place in site["lines"]
    if type(place) is not str:
        return False
    text = _normalise(place[:200])
    lines = re.fullmatch(r"(?:lines?|zeilen?)?\s*(\d{1,5})(?:\s*(?:-|–|to|bis)\s*(\d{1,5}))?", text)
    if lines is None:
        return text.replace("-", " ") in {_normalise(name.replace("-", " ")) for name in site["names"]}
    first, last = int(lines[1]), int(lines[2] or lines[1])
    return 0 <= last - first < MOST_LINES and any(first <= line <= last for line in site["lines"])


def _normalise(name: str) -> str:
    """Return the same text for all spellings of a name."""
    text = name.strip().lower().removeprefix("the ").removeprefix("self.").removesuffix("()")
    return re.sub(r"[\s_]+", " ", text.removeprefix("def ")).strip()


# ---------------------------------------------------------------- inputs

_ALLOWED_VALUES: Mapping[str, Text] = {
    "numbers": {"en": "numbers from -100 to 100", "de": "Zahlen von -100 bis 100"},
    "integers": {"en": "whole numbers", "de": "ganze Zahlen"},
    "mask": {"en": "True and False, or 1 and 0,", "de": "True und False, oder 1 und 0,"},
    "size": {"en": "a whole number from 1 to 1024", "de": "eine ganze Zahl von 1 bis 1024"},
}


@dataclass(frozen=True)
class Input:
    """One input of a listing.

    Args:
        name: of it.
        type: ``mask`` is made of 0 and 1, ``size`` is one whole number.
        axes: how many it has; a mask may have fewer.
        optional: it may be left out, or None.
    """

    name: str
    type: Literal["numbers", "integers", "mask", "size"]
    axes: int = 0
    optional: bool = False

    def read(self, value: Any) -> Tensor | int:
        """Return the input.

        Raises:
            NoEvidence: it has another type or form, or is too large.
        """
        if type(value) not in (bool, int, float, list, tuple) and not isinstance(value, np.ndarray | Tensor):
            raise self._has_no_numbers(type(value).__name__)
        try:
            tensor = torch.as_tensor(value).detach()
        except (TypeError, ValueError, RuntimeError, OverflowError) as error:
            raise self._has_no_numbers(type(value).__name__) from error
        fits = tensor.ndim <= self.axes if self.type == "mask" else tensor.ndim == self.axes
        if not fits or not 1 <= tensor.numel() <= MOST_NUMBERS or tensor.is_complex():
            shape = tuple(tensor.shape)
            raise NoEvidence(
                f"{self.name} has the shape {shape}: too few or too many axes or numbers.",
                f"{self.name} hat die Form {shape}: zu wenige oder zu viele Achsen oder Zahlen.",
            )
        is_whole = tensor.dtype != torch.bool and not tensor.is_floating_point()
        numbers = tensor.double()
        if self.type == "numbers":
            is_valid = tensor.dtype != torch.bool and bool((numbers.abs() <= LARGEST).all())
        elif self.type == "mask":
            is_valid = bool(((numbers == 0) | (numbers == 1)).all())
        else:
            is_valid = is_whole and (self.type != "size" or 1 <= numbers.item() <= 1024)
        if not is_valid:
            values = _ALLOWED_VALUES[self.type]
            raise NoEvidence(
                f"{self.name} should contain {values['en']} only.",
                f"{self.name} soll nur {values['de']} enthalten.",
            )
        if self.type == "size":
            return int(tensor)
        return numbers if self.type == "numbers" else tensor.bool() if self.type == "mask" else tensor.long()

    def _has_no_numbers(self, found: str) -> NoEvidence:
        return NoEvidence(
            f"{self.name} is missing or no array of numbers, but a {found}.",
            f"{self.name} fehlt oder ist kein Array aus Zahlen, sondern ein {found}.",
        )


def read_inputs(value: Any, wanted: tuple[Input, ...]) -> dict[str, Tensor | int]:
    """Return inputs by name.

    Args:
        value: what a finding's function returned: a dictionary, or a tuple or list in order.
        wanted: the inputs of the listing.

    Raises:
        NoEvidence: they are not those of the listing.
    """
    names = [one.name for one in wanted]
    if type(value) in (list, tuple) and len(value) <= len(wanted):
        value = dict(zip(names, value, strict=False))
    if type(value) is not dict or not set(value) <= set(names):
        expected = ", ".join(names)
        raise NoEvidence(
            f"Its function should return {expected}, as a tuple in this order or as a dictionary.",
            f"Die Funktion soll {expected} liefern, als Tupel in dieser Reihenfolge oder als Dictionary.",
        )
    present = [one for one in wanted if not (one.optional and value.get(one.name) is None)]
    return {one.name: one.read(value.get(one.name)) for one in present}


# ---------------------------------------------------------------- evidence


@dataclass(frozen=True)
class Claim:
    """One finding of a student.

    Attributes:
        place: as they wrote it.
        shown: planted faults that violate the definition on its inputs, each one alone; none if the listing
            itself does not.
        problem: why the inputs prove nothing, for students; empty if they show a fault.
    """

    place: Any
    shown: frozenset[str] = frozenset()
    problem: Mapping[str, str] = field(default_factory=dict)

    def proved(self, audit: Audit) -> set[str]:
        """Return the planted faults that it names and shows."""
        faults = audit.facts()["faults"]
        return {fault for fault in self.shown if names_place(self.place, faults[fault])}


def read_claims(
    student: Any, findings_of: Callable[[Any], Any], audit: Audit, wanted: tuple[Input, ...]
) -> list[Claim]:
    """Return what is claimed: at most five findings are read, each in a fresh box, which it may end.

    Args:
        student: the names of the notebook.
        findings_of: gives the list of findings among such names.
        audit: of the listing.
        wanted: its inputs.

    Raises:
        Wrong: the findings are no list.
    """
    count = len(list(itertools.islice(_entries(findings_of(student)), MOST_FINDINGS)))
    return [_read_claim(student.again(), findings_of, index, audit, wanted) for index in range(count)]


def _entries(values: Any) -> Iterator[Any]:
    if not isinstance(values, list | tuple):
        found = type(values).__name__
        raise _tell(f"A list is expected, not a {found}.", f"Erwartet wird eine Liste, kein {found}.")
    yield from values


def _read_claim(
    student: Any, findings_of: Callable[[Any], Any], index: int, audit: Audit, wanted: tuple[Input, ...]
) -> Claim:
    finding: Any = next(itertools.islice(_entries(findings_of(student)), index, None), None)
    if type(finding) not in (list, tuple) or len(finding) < 2:
        return Claim(None, problem=NO_PAIR)
    place, make_inputs, *_ = finding
    try:
        inputs = read_inputs(make_inputs(), wanted)
    except NoEvidence as error:
        return Claim(place, problem=error.text)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"[:300]
        return Claim(
            place, problem={"en": f"Its function raised {what}", "de": f"Die Funktion brach ab mit {what}"}
        )
    try:
        shown = find_violations(audit, inputs)
    except NoEvidence as error:
        return Claim(place, problem=error.text)
    return Claim(place, shown, {} if shown else SAME)


def find_violations(audit: Audit, inputs: Mapping[str, Tensor | int]) -> frozenset[str]:
    """Return the planted faults that violate the definition on inputs, each one alone.

    Raises:
        NoEvidence: the definition says nothing definite there.
    """
    right = audit.outcome(DEFINITION, inputs)
    moved = audit.outcome(DEFINITION, {name: _nudge(value) for name, value in inputs.items()})
    counted = right["output"][right["counted"]]
    if not counted.numel() or not bool((counted.abs() <= LARGEST_OUTPUT).all()):
        raise NoEvidence(
            "On its inputs no output counts, or the definition itself gives huge numbers or none.",
            "Bei diesen Eingaben zählt keine Ausgabe, oder schon die Definition gibt riesige oder gar keine "
            "Zahlen.",
        )
    if _distance(moved, right) > STEADY:
        raise NoEvidence(
            "On its inputs rounding alone decides what comes out.",
            "Bei diesen Eingaben entscheidet schon das Runden über das Ergebnis.",
        )
    faults = audit.facts()["faults"]
    if not _violates(audit, HANDED_OUT, inputs, right):
        return frozenset()
    return frozenset(fault for fault in faults if _violates(audit, f"{ONLY}{fault}", inputs, right))


def _nudge(value: Tensor | int) -> Tensor | int:
    if not isinstance(value, Tensor) or not value.is_floating_point():
        return value
    signs = 1.0 - 2.0 * (torch.arange(value.numel()).view(value.shape) % 2)
    return value * (1 + NUDGE * signs.double())


def _violates(audit: Audit, variant: str, inputs: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    outcome = audit.outcome(variant, inputs)
    return "raised" in outcome or _distance(outcome, right) > VIOLATED


def _distance(outcome: Mapping[str, Any], right: Mapping[str, Any]) -> float:
    """Return the largest difference that counts; infinite if the shapes differ or a number is none."""
    if outcome["output"].shape != right["output"].shape:
        return float("inf")
    expected = right["output"][right["counted"]]
    difference = (outcome["output"][right["counted"]] - expected).abs().max() / expected.abs().max().clamp(
        min=1.0
    )
    return float(difference) if difference.isfinite() else float("inf")


# ---------------------------------------------------------------- items

NO_PAIR = {
    "en": "It should be a pair: a place, and a function that returns inputs.",
    "de": "Er soll ein Paar sein: eine Stelle und eine Funktion, die Eingaben liefert.",
}
SAME = {
    "en": "On its inputs the listing gives exactly what the definition gives.",
    "de": "Auf seinen Eingaben gibt das Listing genau das, was die Definition gibt.",
}
ELSEWHERE = {
    "en": "On its inputs the listing violates the definition, but not because of the place that it names.",
    "de": "Auf seinen Eingaben verletzt das Listing die Definition, aber nicht wegen der genannten Stelle.",
}
RIGHT = frozenset(("right", "correct", "richtig", "korrekt"))
FAULTY = frozenset(("faulty", "wrong", "incorrect", "fehlerhaft", "falsch"))


def judge_verdict(verdict: Any, claims: list[Claim], audit: Audit) -> None:
    """Fail unless the verdict is right and, if the listing is faulty, one finding proves it.

    Raises:
        Wrong: says why.
    """
    word = verdict.strip().lower() if type(verdict) is str else ""
    if word not in RIGHT | FAULTY:
        raise _tell(
            "The verdict should be “right” or “faulty”.", "Das Urteil soll „right“ oder „faulty“ sein."
        )
    if word in RIGHT and audit.planted:
        raise _tell(
            "There are inputs on which the listing violates its definition.",
            "Es gibt Eingaben, auf denen das Listing seine Definition verletzt.",
        )
    if word in RIGHT and claims:
        raise _tell("A listing that is right has no findings.", "Ein richtiges Listing hat keine Befunde.")
    if word in FAULTY:
        if not any(claim.proved(audit) for claim in claims):
            raise _tell(
                "“Faulty” needs a proof.",
                "„Faulty“ braucht einen Beweis.",
                _explain(claims, audit),
            )
        _refuse_guesses(claims, audit)


def judge_fault(fault: str, claims: list[Claim], audit: Audit) -> None:
    """Fail unless a finding proves this fault.

    Raises:
        Wrong: says why.
    """
    if not any(fault in claim.proved(audit) for claim in claims):
        raise _tell("No finding proves this.", "Kein Befund beweist das.", _explain(claims, audit))
    _refuse_guesses(claims, audit)


def judge_claims(findings: Any, claims: list[Claim], audit: Audit) -> None:
    """Fail unless there are findings and each one is proved.

    Raises:
        Wrong: says why.
    """
    if len(list(itertools.islice(_entries(findings), MOST_FINDINGS + 1))) > MOST_FINDINGS:
        raise _tell(
            f"There may be {MOST_FINDINGS} findings at most.",
            f"Es darf höchstens {MOST_FINDINGS} Befunde geben.",
        )
    if not claims or not all(claim.proved(audit) for claim in claims):
        raise _tell("", "", _explain(claims, audit))


def judge_remark(remark: str, remarks: Any, findings: Any, audit: Audit) -> None:
    """Fail unless a remark is made about this, and no finding claims it as a fault.

    Args:
        remark: its id.
        remarks: places that the student wrote.
        findings: as the student wrote them; they may be anything.
        audit: of the listing.

    Raises:
        Wrong: says why.
    """
    places = list(itertools.islice(_entries(remarks), MOST_REMARKS + 1))
    if len(places) > MOST_REMARKS:
        raise _tell(
            f"There may be {MOST_REMARKS} remarks at most.",
            f"Es darf höchstens {MOST_REMARKS} Anmerkungen geben.",
        )
    site = audit.facts()["remarks"][remark]
    claimed = (
        itertools.islice(_entries(findings), MOST_FINDINGS) if isinstance(findings, list | tuple) else ()
    )
    if any(type(claim) in (list, tuple) and claim and names_place(claim[0], site) for claim in claimed):
        raise _tell(
            "This deserves a remark, but it is no fault: it cannot stand among the findings.",
            "Das verdient eine Anmerkung, ist aber kein Fehler: Unter den Befunden kann es nicht stehen.",
        )
    if not any(names_place(place, site) for place in places):
        raise _tell("None of the remarks is about this.", "Keine der Anmerkungen betrifft das.")


def _refuse_guesses(claims: Iterable[Claim], audit: Audit) -> None:
    """Fail if most findings are not proved: otherwise one could name every component."""
    proved = [bool(claim.proved(audit)) for claim in claims]
    if sum(proved) * 2 < len(proved):
        raise _tell(
            "More findings are unproved than proved; then none of them counts.",
            "Mehr Befunde sind unbewiesen als bewiesen; dann zählt keiner.",
        )


def _tell(en: str, de: str, more: Mapping[str, str] = {"en": "", "de": ""}) -> Wrong:
    """Return what is wrong, for staff and in the same words for students."""
    told = {"en": f"{en} {more['en']}".strip(), "de": f"{de} {more['de']}".strip()}
    return Wrong(told["en"], told=told)


def _explain(claims: list[Claim], audit: Audit) -> Text:
    """Return why each finding that is not proved is none, by the students' numbers.

    What they did not name is not told: neither the place of a fault nor which one their inputs show.
    """
    if not claims:
        return {"en": "There are no findings.", "de": "Es gibt keine Befunde."}
    unproved = [
        (number, claim.problem or ELSEWHERE)
        for number, claim in enumerate(claims, 1)
        if not claim.proved(audit)
    ]
    return {
        language: " ".join(f"{word} {number}: {reason[language]}" for number, reason in unproved)
        for language, word in (("en", "Finding"), ("de", "Befund"))
    }
