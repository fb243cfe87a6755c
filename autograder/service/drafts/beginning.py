"""Drafts begin: a version with a change, and every attempt that counts to be graded by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from autograder.authoring.edits import CaseEdit, Edit, edited
from autograder.errors import ServiceError
from autograder.service import audit, versions
from autograder.service.drafts import trying
from autograder.service.models import Account, DraftVersion, Offer

_MOST_SUBJECT = 300


def begin(offer: Offer, changed: Mapping[str, bytes], subject: str, by: Account) -> DraftVersion:
    """Try a change of what is offered on everybody whose attempt counts.

    Args:
        offer: of the assignment; what it offers now is what is changed.
        changed: new contents of files, by path in a course folder.
        subject: what is changed, in words.
        by: who wants it.

    Raises:
        ServiceError: nothing is changed, or the assignment is not usable with the change; says why.
    """
    base = Offer.objects.select_related("version__course").get(pk=offer.pk).version
    version = versions.with_changes(base, changed)
    if version.pk == base.pk:
        raise ServiceError("nothing is changed by this")
    with transaction.atomic():
        draft = DraftVersion.objects.create(
            offer=offer, version=version, base=base, subject=subject[:_MOST_SUBJECT], by=by
        )
        audit.note(
            by.username,
            "draft",
            f"{offer.assignment}: {subject}"[:_MOST_SUBJECT],
            course=offer.course,
            before=base.number,
            after=version.number,
        )
    trying.catch_up(draft)
    return draft


def begin_edits(offer: Offer, edits: list[Edit], subject: str, by: Account) -> DraftVersion:
    """A draft of changes in the rubric; see `begin`.

    Raises:
        RubricError: the rubric cannot be changed like this.
    """
    path, data = versions.rubric_file(Offer.objects.select_related("version").get(pk=offer.pk).version)
    return begin(offer, {path: edited(data, edits)}, subject, by)


def keep_case(
    offer: Offer, question: str, call: Mapping[str, Any], by: Account, item: str = ""
) -> DraftVersion:
    """A draft with a call that somebody tried as a new case of a ``behaviour`` question.

    What is right is what the reference gives, as for every case.

    Args:
        offer: of the assignment.
        question: its id.
        call: ``target``, ``args`` and ``kwargs``, as a rubric states them.
        by: who wants it.
        item: that the case is for; default: the first one that is about cases.

    Raises:
        RubricError: the call is none of this question's, or cannot be written in a rubric.
        ServiceError: see `begin`.
    """
    _, data = versions.rubric_file(Offer.objects.select_related("version").get(pk=offer.pk).version)
    edit = CaseEdit(
        question,
        item,
        _new_name(data),
        str(call.get("target", "")),
        call.get("args", ()),
        call.get("kwargs", {}),
    )
    return begin_edits(offer, [edit], f"{question}: {edit.name}", by)


def _new_name(data: bytes) -> str:
    """A name that no case has, since it stands nowhere in the file."""
    number = 1
    while f"further case {number}".encode() in data:
        number += 1
    return f"further case {number}"
