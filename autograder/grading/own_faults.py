"""What an answer of a second round is worth: a fault in a student's own code is repaired, or it is not.

Most checks pass with the fault in place, so that they are worth nothing by themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal

from msgspec.structs import replace

from autograder.course.manifest import OwnFault
from autograder.records import ItemResult, Message, Status

REPAIRED, PARTLY, LEFT, OPEN = "repaired", "partly", "left", "open"
CHANGED = "changed"
"""In the place of a fault's name where nothing is planted: the question is another one."""


def outcome(results: Collection[ItemResult], fault: OwnFault) -> str:
    """How far an answer repairs a fault: `REPAIRED`, `PARTLY`, `LEFT`, or `OPEN` where a person decides.

    Args:
        results: of all items of the question.
        fault: that was planted.
    """
    status = {one.item: one.status for one in results}
    if Status.NEEDS_REVIEW in status.values():
        return OPEN
    if all(one is Status.PASSED for one in status.values()):
        return REPAIRED
    return PARTLY if any(status.get(item) is Status.PASSED for item in fault.loses) else LEFT


def outcome_of_round(results: Collection[ItemResult], fault: OwnFault) -> str:
    """The same of results that were judged together, where a check that holds is worth nothing by itself."""
    if any(one.code == f"second-round.{PARTLY}" for one in results):
        return PARTLY
    return outcome(results, fault)


def judged_together(results: Sequence[ItemResult], fault: OwnFault) -> tuple[ItemResult, ...]:
    """The results with points only where every check passes, each told with what came of the fault.

    Where nothing was planted, they are what they are.

    Args:
        results: of the question's own checks.
        fault: that was planted.
    """
    if fault.fault == CHANGED:
        return tuple(results)
    found = outcome(results, fault)
    return tuple(_told(one, found) for one in results)


def _told(one: ItemResult, found: str) -> ItemResult:
    if one.possible <= 0:
        return one  # it takes points away, and none are left where something fails
    code = f"second-round.{found}"
    staff = f"{found}; {one.staff}" if one.staff else found
    if one.status is Status.PASSED and found == REPAIRED:
        return replace(one, student=Message(code), staff=staff, code=code)
    if one.status is Status.PASSED:
        status = Status.NEEDS_REVIEW if found == OPEN else Status.FAILED
        return replace(one, status=status, points=Decimal(0), student=Message(code), staff=staff, code=code)
    return replace(one, points=Decimal(0), staff=staff)
