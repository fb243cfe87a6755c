"""Values in the audit log as people read them: in their language, with times by the clock of the course."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from autograder.rubric.timestamps import format_moment
from autograder.web import late_rule_form

_LABELS: Mapping[str, str] = {
    **late_rule_form.LABELS,
    **{f"per_{unit}": f"penalty-per_{unit}" for unit in ("day", "hour")},
    **{name: f"audit-{name.replace('_', '-')}" for name in ("after_hours", "take", "days", "most")},
    **{name: f"audit-{name}" for name in ("question", "item", "answer", "students", "refused", "archive")},
    **{name: f"audit-{name}" for name in ("expires", "stage", "undone", "redacted", "submitted")},
    **{name: name for name in ("role", "email", "reason", "points", "counts")},
    "grace_minutes": "grace",
    "penalty": "penalty-way",
    "steps": "penalty-steps",
    "closed_after_hours": "penalty-closed",
    "groups": "student-groups",
    "student": "student-id",
    "first_name": "first-name",
    "last_name": "last-name",
    "account": "user-name",
    "scopes": "key-scopes",
    "course": "key-course",
    "items": "mark-items",
    "comment": "mark-comment",
    "remarks": "mark-remark",
    "annotations": "mark-notes",
    "flagged": "mark-flagged",
}
"""The sentence that names a field, in the order of display; other keys are data, such as ids of students."""
_ORDER = {name: position for position, name in enumerate(_LABELS)}
_OF_NAMES = frozenset({"students", "groups", "counts", "items", "remarks"})
"""Tables of which all keys are data."""
_CODED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "role": ("role-", ("student", "ta", "head-ta", "instructor", "administrator")),
    "late": ("late-", ("review", "accept", "refuse", "penalty")),
    "unit": ("unit-", late_rule_form.UNITS),
    "late_days": ("late-days-", late_rule_form.DAY_LENGTHS),
    "scopes": ("scope-", ("read", "submit", "mark", "manage")),
    "stage": ("mark-stage-", ("second", "conflict")),
}
"""Fields with codes, which begin the name of a sentence each."""
_POINTS = frozenset({"points", "items", "cap", "floor", "take", *late_rule_form.WAYS})
"""Fields with numbers that are stored as text."""
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}.*")
_NUMBER = re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,9})?")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SHOWN = 12
"""Characters of a digest."""


class ValueFormatter(Struct, frozen=True, eq=False):
    """Formats values for one reader."""

    say: Callable[..., str]
    """Returns a sentence of the pages."""
    number: Callable[[Decimal], str]
    language: str
    zone: ZoneInfo
    """Zone of the course."""

    def format_value(self, value: Any, field: str = "", zone: str = "") -> str:
        """Return a value as text.

        Args:
            value: as the log stores it.
            field: its name; empty: it is the whole value.
            zone: of times without an offset; default: the zone of the course.
        """
        if value is None or value in ("", [], {}):
            return "–" if field else ""
        if isinstance(value, bool):
            return self.say("yes" if value else "no")
        if isinstance(value, Mapping):
            return self._format_table(value, field, zone)
        if isinstance(value, list | tuple):
            return ", ".join(self.format_value(entry, field, zone) for entry in value)
        if isinstance(value, int | float):
            return self.number(Decimal(str(value)))
        return self._format_text(str(value), field, zone)

    def _format_table(self, table: Mapping[str, Any], field: str, zone: str) -> str:
        if field == "redacted":  # entry → digest of what is left of it
            return ", ".join(table)
        if field == "slip_days":  # the position among the assignments that share the days is of no interest
            table = {name: value for name, value in table.items() if name != "place"}
        zone = str(table.get("zone") or zone)
        labels, parts = {} if field in _OF_NAMES else _LABELS, []
        # PostgreSQL does not keep the order of keys.
        for name in sorted(table, key=lambda name: (_ORDER[name] if name in labels else len(_ORDER), name)):
            value = table[name]
            # Values of a table of points are points; the log of a marking sheet has one as a whole.
            inner = "points" if field == "items" or ": " in name else name
            said = self.format_value(value, inner, zone)
            label = self.say(labels[name]) if name in labels else name
            parts.append(f"{label}: ({said})" if value and isinstance(value, Mapping) else f"{label}: {said}")
        return ", ".join(parts)

    def _format_text(self, text: str, field: str, zone: str) -> str:
        prefix, codes = _CODED.get(field, ("", ()))
        if text in codes:
            return self.say(f"{prefix}{text}")
        if _TIME.fullmatch(text):
            return self._format_time(text, zone)
        if field in _POINTS and _NUMBER.fullmatch(text):
            return self.number(Decimal(text))
        return f"{text[:_SHOWN]}…" if _DIGEST.fullmatch(text) else text

    def _format_time(self, text: str, zone: str) -> str:
        try:
            moment = datetime.fromisoformat(text).replace(microsecond=0)
        except ValueError:
            return text
        if moment.tzinfo is None:  # by the clock of the assignment's zone
            return format_moment(moment, zone or self.zone.key, self.language)
        return format_moment(moment.astimezone(self.zone), self.zone.key, self.language)
