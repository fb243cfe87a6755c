"""Sentences of the pages about data protection in English. Translations are in ``locale/``."""

from __future__ import annotations

from collections.abc import Mapping

PEOPLE: Mapping[str, str | tuple[str, str]] = {
    "web.people": "Data protection",
    "web.people-search": "Persons",
    "web.people-told": "Export or erase the data of one person.",
    "web.people-name": "Part of a name, an id or an e-mail address",
    "web.people-none": "Nobody was found.",
    "web.person-export": "Download all data (zip)",
    "web.person-erase": "Erase data",
    "web.erase-told": (
        "Erases the account, submissions, marks, keys and sessions of this person. This cannot be undone. "
        "Submissions of a group stay while another member is on the class list. The course folder and "
        "backups are not changed."
    ),
    "web.erase-confirm": "Type {name} to confirm",
    "web.erase-not-confirmed": (
        "Nothing was erased: type {name} exactly to confirm. You cannot erase your own account."
    ),
    "web.person-erased": "The data were erased. The log now says {name} instead of the name.",
    "web.views": "Views by course staff",
    "web.view-attempt": "attempt",
    "web.view-file": "submitted file",
    "web.view-answer": "answer",
    "web.view-result": "feedback",
    "web.view-request": "regrade request",
    "web.keep": "Retention periods",
    "web.keep-told": (
        "Students are erased automatically this many days after the last submission, mark, request or "
        "deadline of their course. Leave the field empty to keep them."
    ),
    "web.keep-days": "{course}: days",
    "web.keep-saved": "The retention period of {course} was saved.",
    "web.keep-invalid": "Not saved: enter at least {least} days, or leave the field empty.",
    "web.log-erase": "person erased",
    "web.log-export-person": "data of a person exported",
    "web.log-retention-period": "retention period changed",
}
