"""What a student reads about several cells at once: how many are right, and what is wrong in some."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from autograder.checks.judging.results import Finding, failed
from autograder.messages import LANGUAGES, render
from autograder.records import Message, Status

MOST_TOLD = 3


def together(found: Sequence[Finding], right: int, total: int, points: Decimal) -> Finding:
    """One finding for all wrong cells of an item.

    Args:
        found: what is wrong; at least one.
        right: how many cells are right.
        total: how many there are.
        points: for the right ones.
    """
    different = list({(one.message.code, *one.message.params.items()): one for one in found}.values())
    staff = "; ".join(one.staff for one in different[: 2 * MOST_TOLD])
    if total == 1 and len(different) == 1:
        return Finding(Status.FAILED, different[0].message, staff, points)
    told = [failed("table.some", "", count=str(right), total=str(total)), *different[:MOST_TOLD]]
    text = {
        language: " ".join(render(one.message, language) for one in told)
        .replace("{", "{{")
        .replace("}", "}}")
        for language in LANGUAGES
    }
    codes = {one.message.code for one in different}
    code = codes.pop() if len(codes) == 1 else "table.some"
    return Finding(Status.FAILED, Message(code, text=text), f"{right} of {total} right; {staff}", points)
