"""The words of the sheets on paper."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str | tuple[str, str]] = {
    "sheet.name": "Name",
    "sheet.number": "Student number",
    "sheet.page": "Page",
    "sheet.of": "of",
    "sheet.points": ("{number} point", "{number} points"),
    "sheet.repair": "Correct the listing where it stands, or beside it.",
    "sheet.for-graders": "Solutions, for graders only",
    "sheet.version": "rubric version",
    "sheet.variant-of": "variant of",
    "sheet.no-key": "The answer key has nothing here.",
    "sheet.by-person": "A person decides.",
    "sheet.by-tests": "Decided by what the answer computes; every right way counts.",
    "sheet.right": "Right",
    "sheet.also-right": "Also right",
    "sheet.pick": "{number} of these, each once",
    "sheet.worth": "Worth {points}",
    "sheet.full": "Full points",
    "sheet.half": "Half of the points",
    "sheet.none": "No points",
    "sheet.guide": "Guide",
    "sheet.suggest": "Words to look for",
    "sheet.cues": "What is looked for",
    "sheet.exactly": "exactly {number}",
    "sheet.never": "must not occur",
    "sheet.order": "In this order",
    "sheet.bonus": "bonus",
    "sheet.needs": "Only with",
}
