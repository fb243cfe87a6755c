"""Late penalties and slip days, as the form shows and sends them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import QueryDict

from autograder.core.errors import RubricError, TomlStep
from autograder.core.wording import LocalisedText
from autograder.course.schedule import MOST_EXTRA, MOST_GRACE, MOST_SLIP, MOST_WORKING
from autograder.messages import build_localised_text
from autograder.rubric.lateness import MOST_HOURS
from autograder.service.models import CourseRecord, Offer

WAYS = ("per_day", "per_hour", "steps")
UNITS = ("percent", "percent-of-earned", "points")
DAY_LENGTHS = ("calendar", "24-hours")
FIELDS = ("grace", "way", "amount", "unit", "cap", "floor", "closed", "late_days", "slip_days", "slip_most")
TABLES = ("grace_minutes", "penalty", "late_days", "slip_days")
LABELS: Mapping[str, str] = {
    **{name: name for name in ("start", "end", "zone", "late", "grace")},
    **{name: f"penalty-{name}" for name in ("way", "amount", "unit", "cap", "floor", "closed")},
    "minutes": "working-time",
    "extra_minutes": "extra-minutes",
    "late_days": "late-days",
    "slip_days": "slip-days",
    "slip_most": "slip-most",
}
"""The label of each field of the forms with dates and extensions."""
_WHOLE: Mapping[str, tuple[int, int]] = {
    "minutes": (1, MOST_WORKING),
    "extra_minutes": (0, MOST_EXTRA),
    "grace": (0, MOST_GRACE),
    "closed": (1, MOST_HOURS),
    "slip_days": (1, MOST_SLIP),
    "slip_most": (1, MOST_SLIP),
}
"""Fields with whole numbers, and their limits."""
_NUMBERS = ("amount", "cap", "floor")
_LIMITS = {"cap": "cap", "floor": "floor", "closed": "closed_after_hours"}
# People also type a decimal comma and a typographic minus sign.
_SIGN = str.maketrans(",−", ".-")


def to_fields(times: Mapping[str, Any]) -> dict[str, str]:
    """Return the form's fields for the stored terms."""
    penalty = times.get("penalty") or {}
    way = next((entry for entry in WAYS if penalty.get(entry)), "")
    amount = penalty.get(way, "")
    if way == "steps":
        amount = ", ".join(f"{entry['after_hours']}: {entry['take']}" for entry in amount)
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


def read_terms(sent: QueryDict, offer: Offer) -> dict[str, Any]:
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
    terms: dict[str, Any] = {}
    if typed["grace"]:
        terms["grace_minutes"] = parse_whole(typed["grace"])
    if typed["way"]:
        terms["penalty"] = _read_penalty(typed)
    # The default is not stored.
    if typed["late_days"] not in {"", DAY_LENGTHS[0]}:
        terms["late_days"] = typed["late_days"]
    if typed["slip_days"]:
        days = parse_whole(typed["slip_days"])
        most = parse_whole(typed["slip_most"]) if typed["slip_most"] else days
        terms["slip_days"] = build_slip_days(offer, days, most)
    return terms


def build_slip_days(offer: Offer, days: int | str, most: int | str) -> dict[str, Any]:
    """Return the table of slip days; an assignment keeps its position, a new one comes last."""
    position = (offer.times.get("slip_days") or {}).get("place", _get_next_position(offer.course))
    return {"days": days, "most": most, "place": position}


def _read_penalty(typed: Mapping[str, str]) -> dict[str, Any]:
    amount: Any = typed["amount"].translate(_SIGN)
    if typed["way"] == "steps":
        amount = [_parse_step(step) for step in typed["amount"].replace(";", ",").split(",") if step.strip()]
    limits: dict[str, Any] = {
        name: typed[field].translate(_SIGN) for field, name in _LIMITS.items() if typed[field]
    }
    if "closed_after_hours" in limits:
        limits["closed_after_hours"] = parse_whole(limits["closed_after_hours"])
    return {typed["way"]: amount, "unit": typed["unit"] or "percent", **limits}


def _parse_step(text: str) -> dict[str, Any]:
    hours, _, take = text.partition(":")
    return {"after_hours": parse_whole(hours.strip()), "take": take.strip()}


def find_field(path: Sequence[TomlStep]) -> str:
    """Return the field that an error is about; empty if it is about several.

    Args:
        path: keys from the table of the assignment, or of an extension, to the error.
    """
    key, *inner = path or ("",)
    if key == "penalty":
        of_limit = {name: field for field, name in _LIMITS.items()}
        return of_limit.get(str(inner[0]) if inner else "", "amount")
    if key == "slip_days":
        return "slip_most" if inner == ["most"] else "slip_days"
    field = "grace" if key == "grace_minutes" else str(key)
    return field if field in LABELS else ""


def describe_fault(error: RubricError, field: str) -> LocalisedText:
    """Return what is wrong with a field, or with the whole form, for people who fill it in."""
    fault = error.message
    # The reader of tables explains wrong types and limits to authors of TOML files.
    if isinstance(fault, str):
        if field in _WHOLE:
            least, most = _WHOLE[field]
            fault = build_localised_text("web.expected-whole", least=least, most=most)
        else:
            code = "number" if field in _NUMBERS else "moment" if field in ("start", "end") else "other"
            fault = build_localised_text(f"web.expected-{code}")
    return fault


def parse_whole(text: str) -> int | str:
    """Parse a whole number; return any other text unchanged."""
    # Longer digit strings stay text as well, so that the reader refuses them like any other typo.
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 10 else text


def _get_next_position(course: CourseRecord) -> int:
    """Return the position after all other assignments of the course that use slip days."""
    all_times = Offer.objects.filter(course=course).exclude(times={}).values_list("times", flat=True)
    return 1 + max((times["slip_days"]["place"] for times in all_times if "slip_days" in times), default=-1)


def list_bank_changes(offer: Offer, slip: Mapping[str, Any] | None) -> list[tuple[Offer, dict[str, Any]]]:
    """Return the other assignments that have a different number of slip days, with their updated times.

    All assignments of a course share one bank of slip days, so a new number of days applies to each.
    """
    if slip is None:
        return []
    other_offers = Offer.objects.filter(course=offer.course).exclude(pk=offer.pk).exclude(times={})
    changes = []
    for other in other_offers.select_related("version", "course").order_by("pk"):
        slip_days = other.times.get("slip_days")
        if slip_days and slip_days["days"] != slip["days"]:
            # No assignment can allow more slip days than the bank has.
            most = (
                min(slip_days["most"], slip["days"]) if isinstance(slip["days"], int) else slip_days["most"]
            )
            changes.append(
                (other, {**other.times, "slip_days": {**slip_days, "days": slip["days"], "most": most}})
            )
    return changes
