"""Deliveries: an event reaches each recipient once, however often the job runs; failures are tried again."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from autograder.core.errors import AutograderError, describe_error
from autograder.core.wording import encode_phrase
from autograder.messages import build_localised_text
from autograder.service import tasks
from autograder.service.assignment_cache import AssignmentCache
from autograder.service.models import Account
from autograder.service.models_results import Delivery, Webhook
from autograder.service.notices import mail, webhooks

LOG = logging.getLogger("autograder.service.notices")
_DELAYS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 600))
"""Delays after each failed try; after the last one a delivery is given up."""


def deliver_due(loaded: AssignmentCache) -> int:
    """Deliver everything that is due; return the number of messages that were sent."""
    due = Delivery.objects.filter(due_at__lte=timezone.now())
    accounts = due.exclude(member=None).values_list("member__account", flat=True).distinct()
    hooks = due.exclude(webhook=None).values_list("pk", flat=True)
    sent = sum(_deliver_mail(account, loaded) for account in list(accounts))
    return sent + sum(_deliver_webhook(delivery) for delivery in list(hooks))


def sweep_notices() -> None:
    """Enqueue a delivery if something is due, whatever happened to its job."""
    if Delivery.objects.filter(due_at__lte=timezone.now()).exists():
        tasks.enqueue_job(tasks.NOTICES, "due")


def _lock_due(**recipient: int) -> list[Delivery]:
    """Lock due deliveries; those that another worker is sending at this moment are left out."""
    due = Delivery.objects.filter(due_at__lte=timezone.now(), **recipient)
    rows = due.select_for_update(skip_locked=True, of=("self",))
    related = ("event__offer__course", "event__offer__version", "member__account", "webhook")
    return list(rows.select_related(*related).order_by("event__at", "pk"))


def _deliver_mail(account: int, loaded: AssignmentCache) -> bool:
    """Send a person everything that is due in one e-mail."""
    # The rows stay locked until they are marked as sent: a second job finds none of them.
    with transaction.atomic():
        rows = _lock_due(member__account=account)
        if not rows or not rows[0].member:
            return False
        person: Account = rows[0].member.account
        address = person.email or next(
            (row.member.email for row in rows if row.member and row.member.email), ""
        )
        if person.mail == Account.Mail.NEVER or not person.is_active or not address:
            _give_up(rows)
            return False
        try:
            mail.send_mail(person, address, rows, loaded)
        except Exception as error:  # noqa: BLE001 - of a mail server; it is tried again
            LOG.warning("an e-mail could not be sent: %s", describe_error(error))
            _try_later(rows)
            return False
        _mark_sent(rows)
    return True


def _deliver_webhook(number: int) -> bool:
    """Send one event to one webhook."""
    with transaction.atomic():
        rows = _lock_due(pk=number)
        if not rows or rows[0].webhook is None:
            return False
        hook, problem = rows[0].webhook, ""
        try:
            webhooks.send_event(hook, rows[0].event)
        except AutograderError as error:
            problem = encode_phrase(error.text)
        except Exception as error:  # noqa: BLE001 - of a foreign server; it is tried again
            LOG.warning("an event could not be sent to a webhook: %s", describe_error(error))
            name = type(error).__name__
            problem = encode_phrase(build_localised_text("web.webhook-unreachable", error=name))
        Webhook.objects.filter(pk=hook.pk).update(problem=problem)
        if problem:
            _try_later(rows)
        else:
            _mark_sent(rows)
    return not problem


def _mark_sent(rows: Sequence[Delivery]) -> None:
    now = timezone.now()
    Delivery.objects.filter(pk__in=[row.pk for row in rows]).update(due_at=None, sent_at=now)


def _give_up(rows: Sequence[Delivery]) -> None:
    Delivery.objects.filter(pk__in=[row.pk for row in rows]).update(due_at=None)


def _try_later(rows: Sequence[Delivery]) -> None:
    for row in rows:
        row.due_at = timezone.now() + _DELAYS[row.tries] if row.tries < len(_DELAYS) else None
        row.tries += 1
    Delivery.objects.bulk_update(rows, ["due_at", "tries"])
