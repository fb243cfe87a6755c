"""E-mails about events, in the recipient's language."""

from __future__ import annotations

import os
from collections.abc import Sequence
from decimal import Decimal

from django.core.mail import EmailMessage

from autograder import messages
from autograder.pages.feedback.labels import Labels
from autograder.service import attempts
from autograder.service.assignment_cache import AssignmentCache
from autograder.service.models import Account
from autograder.service.models_results import Delivery, EventKind
from autograder.service.setup import ADDRESS
from autograder.service.standings import compute_student_standing, load_current_result
from autograder.service.store import DatabaseStore


def send_mail(account: Account, address: str, rows: Sequence[Delivery], loaded: AssignmentCache) -> None:
    """Send a person one e-mail about some events.

    Raises:
        OSError: the mail server cannot be reached, or refused.
    """
    language = account.language if account.language in messages.list_languages() else "en"
    lines = [_describe_event(row, language, loaded) for row in rows]
    offer, number = rows[0].event.offer, len(rows)
    subject = messages.format_sentence(
        "mail.subject", language, course=offer.course.title, assignment=offer.title
    )
    if number > 1:
        subject = messages.format_counted("mail.subject-several", language, Decimal(number), number=number)
    body = "\n\n".join([*lines, messages.format_sentence("mail.end", language)])
    # The same message has the same id, so that a mail server can recognise it.
    headers = {"Message-ID": f"<{rows[0].event_id}.{rows[-1].pk}@nbexam>", "Auto-Submitted": "auto-generated"}
    EmailMessage(" ".join(subject.split()), f"{body}\n", to=[address], headers=headers).send()


def _describe_event(row: Delivery, language: str, loaded: AssignmentCache) -> str:
    event, offer = row.event, row.event.offer
    facts = {"assignment": offer.title, "number": event.attempt}
    lines = [f"{offer.course.title}: " + messages.format_sentence(f"mail.{event.kind}", language, **facts)]
    if event.kind == EventKind.RESULT_PUBLISHED and offer.course.mail_marks and row.member:
        lines += _describe_points(row, language, loaded)
    if base := os.environ.get(ADDRESS, ""):
        lines.append(f"{base.rstrip('/')}/app/c/{offer.course.slug}/a/{offer.assignment}/")
    return "\n".join(lines)


def _describe_points(row: Delivery, language: str, loaded: AssignmentCache) -> list[str]:
    """Return the points of a student; empty if marks were withdrawn meanwhile, or there are none."""
    offer, student = row.event.offer, row.member.student if row.member else ""
    graded, marks = DatabaseStore(offer.course).load_student_result(offer.assignment, student)
    if graded is None or offer.published_at is None:
        return []
    assignment = loaded.load_assignment(offer.version)
    handin = attempts.find_counting_attempt(offer, student, assignment.rubric)
    standing = compute_student_standing(offer, assignment, load_current_result(graded, handin), marks)
    write = Labels(language).number
    points = {"points": write(standing.total), "possible": write(assignment.rubric.assignment.points)}
    return [messages.format_sentence("mail.result-points", language, **points)]
