"""Sentences of the pages about notifications in English. Translations are in ``locale/``."""

from __future__ import annotations

from collections.abc import Mapping

NOTIFICATIONS: Mapping[str, str | tuple[str, str]] = {
    "web.notifications": "Notifications",
    "web.mail": "E-mail",
    "web.mail-when": "About published results, answered requests, unreadable attempts and changed deadlines",
    "web.mail-each": "at once",
    "web.mail-daily": "once a day",
    "web.mail-never": "never",
    "web.mail-language": "Language",
    "web.mail-saved": "Your choice was saved.",
    "web.mail-marks-on": "E-mails about published results state the points.",
    "web.mail-marks-off": "E-mails about published results only say that they are available.",
    "web.mail-marks-show": "State the points",
    "web.mail-marks-hide": "Do not state the points",
    "web.webhooks": "Webhooks",
    "web.webhooks-told": (
        "Other systems receive each event of this course as signed JSON, without marks. The address must use "
        "https."
    ),
    "web.webhook-address": "Address",
    "web.webhook-shown": "This is the secret of the signatures. It is shown only once:",
    "web.webhook-remove-told": "Deliveries to this address end at once. Its secret cannot be shown again.",
    "web.webhook-problem": "last delivery failed: {reason}",
    "web.log-add-webhook": "webhook added",
    "web.log-remove-webhook": "webhook removed",
    "web.log-points-in-mails": "points in e-mails changed",
}
