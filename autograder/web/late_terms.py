"""Late penalties and slip days, as the form shows and sends them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict

from autograder.service.models import CourseRecord, Offer

WAYS = ("per_day", "per_hour", "steps")
UNITS = ("percent", "percent-of-earned", "points")
DAY_LENGTHS = ("calendar", "24-hours")
FIELDS = ("grace", "way", "amount", "unit", "cap", "floor", "closed", "late_days", "slip_days", "slip_most")
TABLES = ("grace_minutes", "penalty", "late_days", "slip_days")
_LIMITS = {"cap": "cap", "floor": "floor", "closed": "closed_after_hours"}
# People also type a decimal comma and a typographic minus sign.
_SIGN = str.maketrans(",−", ".-")


def as_shown(times: Mapping[str, Any]) -> dict[str, str]:
    """Return the form's fields for the stored terms."""
    penalty = times.get("penalty") or {}
    way = next((one for one in WAYS if penalty.get(one)), "")
    amount = penalty.get(way, "")
    if way == "steps":
        amount = ", ".join(f"{one['after_hours']}: {one['take']}" for one in amount)
    slip = times.get("slip_days") or {}
    return {
        "grace": str(times.get("grace_minutes", "")),
        "way": way,
        "amount": str(amount),
        "unit": penalty.get("unit", "percent"),
        **{field: str(penalty.get(name, "")) for field, name in _LIMITS.items()},
        "late_days": times.get("late_days", DAY_LENGTHS[0]),
        "slip_days": str(slip.get("days", "")),
        "slip_most": str(slip.get("most", "")),
    }


def stated(sent: QueryDict, offer: Offer) -> dict[str, Any]:
    """Read the terms from a form, as a rubric table has them; the table's reader validates them.

    Text that is not a number stays as it was typed, so that the error message quotes it.

    Args:
        sent: the form; without any of these fields the stored terms are kept.
        offer: the assignment that the form is about.
    """
    kept = {name: value for name, value in offer.times.items() if name in TABLES}
    # A form without any of these fields must not erase the terms.
    if not any(name in sent for name in FIELDS):
        return kept
    typed = {name: sent.get(name, "").strip() for name in FIELDS}
    found: dict[str, Any] = {}
    if typed["grace"]:
        found["grace_minutes"] = _whole(typed["grace"])
    if typed["way"]:
        found["penalty"] = _penalty(typed)
    # The default is not stored.
    if typed["late_days"] not in {"", DAY_LENGTHS[0]}:
        found["late_days"] = typed["late_days"]
    if typed["slip_days"]:
        days = _whole(typed["slip_days"])
        most = _whole(typed["slip_most"]) if typed["slip_most"] else days
        place = (offer.times.get("slip_days") or {}).get("place", _next_place(offer.course))
        found["slip_days"] = {"days": days, "most": most, "place": place}
    return found


def _penalty(typed: Mapping[str, str]) -> dict[str, Any]:
    amount: Any = typed["amount"].translate(_SIGN)
    if typed["way"] == "steps":
        amount = [_step(one) for one in typed["amount"].replace(";", ",").split(",") if one.strip()]
    limits: dict[str, Any] = {
        name: typed[field].translate(_SIGN) for field, name in _LIMITS.items() if typed[field]
    }
    if "closed_after_hours" in limits:
        limits["closed_after_hours"] = _whole(limits["closed_after_hours"])
    return {typed["way"]: amount, "unit": typed["unit"] or "percent", **limits}


def _step(text: str) -> dict[str, Any]:
    hours, _, take = text.partition(":")
    return {"after_hours": _whole(hours.strip()), "take": take.strip()}


def _whole(text: str) -> int | str:
    """Parse a whole number; return any other text unchanged."""
    # Longer digit strings stay text as well, so that the reader refuses them like any other typo.
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 10 else text


def _next_place(course: CourseRecord) -> int:
    """Return the position after all other assignments of the course that use slip days."""
    others = Offer.objects.filter(course=course).exclude(times={}).values_list("times", flat=True)
    return 1 + max((one["slip_days"]["place"] for one in others if "slip_days" in one), default=-1)


def same_bank(offer: Offer, slip: Mapping[str, Any] | None) -> list[tuple[Offer, dict[str, Any]]]:
    """Return the other assignments that have a different number of slip days, with their updated times.

    All assignments of a course share one bank of slip days, so a new number of days applies to each.
    """
    if slip is None:
        return []
    others = Offer.objects.filter(course=offer.course).exclude(pk=offer.pk).exclude(times={})
    found = []
    for one in others.select_related("version", "course").order_by("pk"):
        own = one.times.get("slip_days")
        if own and own["days"] != slip["days"]:
            # No assignment can allow more slip days than the bank has.
            most = min(own["most"], slip["days"]) if isinstance(slip["days"], int) else own["most"]
            found.append((one, {**one.times, "slip_days": {**own, "days": slip["days"], "most": most}}))
    return found
