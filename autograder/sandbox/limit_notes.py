"""Notes about limits that were met: how much was allowed, and what staff should know."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from autograder.core import limits as allowed
from autograder.core.records import Ending, LimitEvent, LimitKind, Limits, Note, Observation

MET = "limit-met"
CELL_ENDED = "cell-ended-box"
CALL_ENDED = "call-ended-box"
ENDED_BEFORE = "other calls of the question had ended their boxes"
SHARED_USER = "shared-user"
CROWDED = (
    "something was raised or ran out of time, and the kernel's quota of your user for descriptors under way "
    "or memory of pipes was used up meanwhile: another submission can have done so; what would have lost "
    "points needs manual review, or grade again as root, or with --workers 1 --again"
)


def with_limit(observation: Observation, limits: Limits) -> Observation:
    """Return an observation that says how much was allowed if it met a limit."""
    reported = (encounter.met for encounter in observation.met if encounter.claimed)
    kind = observation.ending or next(reported, None)
    if kind is None:
        return observation
    return msgspec.structs.replace(observation, limit=allowed.format_limit(kind, limits))


def mark_out_of_time(observation: Observation) -> Observation:
    """Mark the observation of a call that was stopped because the whole submission had no time left."""
    is_late = observation.ending is Ending.CALL_TIME
    return msgspec.structs.replace(observation, ending=Ending.SUBMISSION_TIME) if is_late else observation


def describe_ending(ending: Ending, limits: Limits) -> str:
    """Describe an ending for staff, with how much was allowed."""
    amount = allowed.format_limit(ending, limits)
    return f"{ending.value}, allowed: {amount}" if amount else ending.value


def list_cell_notes(number: int, met: Iterable[LimitEvent], limits: Limits) -> list[Note]:
    """List notes on the limits that a cell met.

    Args:
        number: of the cell, counted from 0.
        met: the limits.
        limits: of the submission.
    """
    return [_build_note(encounter, limits, f"cell {number + 1}") for encounter in met]


def list_call_notes(name: str, observation: Observation, limits: Limits, place: str) -> list[Note]:
    """List notes on the limits that a call met.

    Args:
        name: the name that was called.
        observation: the answer.
        limits: of the submission.
        place: the question that made the call.
    """
    notes = [_build_note(encounter, limits, place) for encounter in observation.met]
    ending = observation.ending
    if ending is Ending.NOT_ASKED:
        notes.append(Note(CALL_ENDED, f"{name}: not asked: {ENDED_BEFORE}", place))
    elif ending is not None:
        notes.append(Note(CALL_ENDED, f"{name}: the box ended ({describe_ending(ending, limits)})", place))
    return notes


def add_notes(notes: list[Note], new: Iterable[Note]) -> None:
    """Add notes that are not there yet: a cell that runs again meets its limits again."""
    notes += [note for note in new if note not in notes]


def _build_note(encounter: LimitEvent, limits: Limits, place: str) -> Note:
    met = encounter.met
    source = "counted outside" if encounter.measured else "as the box says; not seen outside"
    if met is LimitKind.NETWORK:
        return Note(MET, f"asked for something from a network, which no box has, {source}; it went on", place)
    name = allowed.OF_MET[met]
    return Note(MET, f"met {name} ({allowed.format_limit(met, limits)}), {source}; the box went on", place)
