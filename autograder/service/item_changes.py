"""Change the items of a question while it is marked: a new version with another rubric, tried on the class.

Only the changed values of the rubric's text are written; everything else keeps its bytes.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import tomlkit
from django.db import transaction
from msgspec import Struct

from autograder import rubric as rubrics
from autograder.core import atomic
from autograder.core.errors import RubricError, ServiceError
from autograder.rubric import read_tables
from autograder.service import audit, course_transfer, trials, versions
from autograder.service.models import Account, CourseRecord, Offer, VersionTrial
from autograder.service.refusals import RequestRefused


class EditedItem(Struct, frozen=True):
    """What can be changed in an item that people mark."""

    id: str
    """Empty: a new item."""
    points: Decimal
    text: Mapping[str, str]
    guide: Mapping[str, str] = {}


def list_editable_items(data: bytes, question: str, languages: Sequence[str]) -> list[EditedItem]:
    """Return the items of a question as the file has them, with placeholders.

    Args:
        data: of the rubric.
        question: its id.
        languages: a guide that is the same in all of them is given in each.
    """
    items = _find_question(read_tables(data, "rubric"), question)["item"]
    return [
        EditedItem(
            item["id"],
            Decimal(item["points"]),
            dict(item["text"]),
            _read_guide(item.get("guide", ""), languages),
        )
        for item in items
    ]


def _read_guide(guide: Any, languages: Sequence[str]) -> dict[str, str]:
    return dict.fromkeys(languages, guide) if isinstance(guide, str) and guide else dict(guide or {})


def edit_items(data: bytes, question: str, items: Sequence[EditedItem], languages: Sequence[str]) -> bytes:
    """Return the rubric with other items: those left out are removed, and new ones come last.

    The points of the question, of its task and of the assignment follow.

    Args:
        data: of the rubric.
        question: its id.
        items: all items that the question has from now on.
        languages: of the assignment.

    Raises:
        RequestRefused: an item is named that the question does not have, or is named twice.
    """
    before = {item.id: item for item in list_editable_items(data, question, languages)}
    kept = [item.id for item in items if item.id]
    if len(set(kept)) != len(kept) or not set(kept) <= before.keys():
        raise RequestRefused("items-outdated")
    document = tomlkit.parse(data.decode("utf-8-sig"))
    table = _find_question(document, question)
    rows = table["item"]
    for number in reversed(range(len(rows))):
        if rows[number]["id"] not in kept:
            del rows[number]
    by_id = {row["id"]: row for row in rows}
    for item in items:
        if item.id:
            _write_changes(by_id[item.id], before[item.id], item)
        else:
            rows.append(_make_row(item, {*before, *(row["id"] for row in rows)}))
    more = _sum_points(items) - _sum_points(before.values())
    if more:
        _raise_points(table, more)
        if not table.get("bonus", False):
            settings = document["assignment"]
            _raise_points(settings, more)
            for task in settings.get("task", ()):
                if task["id"] == table.get("task"):
                    _raise_points(task, more)
    return tomlkit.dumps(document).encode()


def _find_question(table: Mapping[str, Any], question: str) -> Any:
    return next(entry for entry in table["question"] if entry["id"] == question)


def _sum_points(items: Any) -> Decimal:
    # Deductions do not count to the possible points.
    return sum((max(item.points, Decimal(0)) for item in items), Decimal(0))


def _write_changes(row: Any, before: EditedItem, item: EditedItem) -> None:
    if item.points != before.points:
        row["points"] = _to_number(item.points)
    if item.text != before.text:
        row["text"] = _to_texts(item.text)
    if item.guide != before.guide:
        row.pop("guide", None)
        if item.guide:
            row["guide"] = _to_texts(item.guide)


def _make_row(item: EditedItem, taken: set[str]) -> Any:
    row = tomlkit.table()
    row["id"] = next(name for number in itertools.count(1) if (name := f"item-{number}") not in taken)
    row["points"] = _to_number(item.points)
    row["text"] = _to_texts(item.text)
    row["manual"] = True
    if item.guide:
        row["guide"] = _to_texts(item.guide)
    row.add(tomlkit.nl())
    return row


def _to_texts(texts: Mapping[str, str]) -> Any:
    table = tomlkit.inline_table()
    table.update(dict(texts))
    return table


def _to_number(points: Decimal) -> Any:
    # A float would lose the exact decimal; TOML keeps the digits.
    return tomlkit.value(f"{points.normalize():f}")


def _raise_points(table: Any, more: Decimal) -> None:
    table["points"] = _to_number(Decimal(table["points"].as_string()) + more)


def change_items(
    offer: Offer, seen: int, question: str, items: Sequence[EditedItem], by: Account
) -> tuple[Offer, VersionTrial | None]:
    """Make a version with other items of a question and begin its trial; see `trials.import_assignment`.

    Args:
        offer: the assignment.
        seen: the primary key of the version that the items were read from.
        question: id of the question.
        items: all items that it has from now on.
        by: who changes them.

    Raises:
        RequestRefused: another version came into use, a trial is in progress, or nothing differs.
        ServiceError: the rubric would not be valid.
        AutograderError: the version cannot be offered.
    """
    with tempfile.TemporaryDirectory(prefix="autograder-items-") as folder, transaction.atomic():
        # Locks in the order of `trials.rollout`: the course, the log.
        CourseRecord.objects.select_for_update(no_key=True).get(pk=offer.course_id)
        audit.lock_log()
        row = Offer.objects.select_related("course", "version__course").get(pk=offer.pk)
        if row.version_id != seen:
            raise RequestRefused("items-outdated")
        # A trial concerns one version, which would lack either this change or the other one.
        active = VersionTrial.objects.filter(offer=row, settled="", base=row.version_id)
        if (other := active.select_related("version").first()) is not None:
            raise RequestRefused("items-tried", number=other.version.number)
        course = versions.lay_out(row.version, Path(folder))
        course_transfer.write_groups([row], course)
        path = course.locate_rubric(row.assignment)
        data = path.read_bytes()
        changed = edit_items(data, question, items, rubrics.load_rubric(path).assignment.languages)
        if changed == data:
            raise RequestRefused("items-unchanged")
        atomic.write_bytes(path, changed)
        try:
            rubrics.load_rubric(path)
            updated, trial = trials.import_assignment(row.course, course, row.assignment, by)
        except RubricError as error:
            # Authors know the paths of their course, not those of this machine.
            raise ServiceError(str(error).replace(f"{course.root}{os.sep}", "")) from error
        # A restart of the server must not offer the folder again, which lacks the change.
        Offer.objects.filter(pk=row.pk).update(uploaded=True)
        number = trial.version.number if trial else updated.version.number
        audit.record_action(
            by.username,
            "change items",
            f"{row.assignment}: {question}",
            course=row.course,
            before=row.version.number,
            after=number,
        )
    return updated, trial
