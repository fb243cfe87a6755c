"""Pages during an outage of the database: one failed query, then an error page."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from tests.web.people import Small

AWAY = "Der Dienst ist zurzeit nicht erreichbar."


class Outage:
    """A database that answers a number of queries and then fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers_left = 0
        self.unanswered = 0
        ask = BaseDatabaseWrapper._cursor

        def answer_or_refuse(connection: BaseDatabaseWrapper, *args: Any) -> Any:
            if self.answers_left > 0:
                self.answers_left -= 1
                return ask(connection, *args)
            # Inside a transaction, Django does not reconnect, so there is no waiting time.
            self.unanswered += not connection.in_atomic_block
            raise OperationalError("couldn't get a connection after 5.00 sec")

        monkeypatch.setattr(BaseDatabaseWrapper, "_cursor", answer_or_refuse)


@pytest.mark.parametrize("path", ["{base}a/small/", "/app/", "/app/nowhere", "/app/accounts/login/"])
def test_a_page_asks_once_when_the_database_is_down(
    at: Small, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The response is 503 in the reader's language, also for unknown pages, and the session is kept."""
    client = at.client(headers={"accept-language": "de"}, raise_request_exception=False)
    session = client.cookies["sessionid"].value
    outage = Outage(monkeypatch)
    response = client.get(path.format(base=at.base))
    assert (503, 1) == (response.status_code, outage.unanswered)
    assert AWAY in response.content.decode()
    assert session == client.cookies["sessionid"].value


def test_a_form_asks_once_when_the_database_goes_down_meanwhile(
    at: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error page appears whichever query fails."""
    client = at.client("instructor", headers={"accept-language": "de"}, raise_request_exception=False)
    outage = Outage(monkeypatch)
    for answers in range(100):
        outage.answers_left, outage.unanswered = answers, 0
        response = client.post("/app/keys/mail", {})
        if response.status_code != 503:
            break
        assert outage.unanswered <= 1, answers
        assert AWAY in response.content.decode()
    assert (302, True) == (response.status_code, answers >= 3)


def test_the_api_answers_503_when_the_database_is_down(at: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """The response is a problem document, like other errors of the API."""
    client = at.client("nobody", raise_request_exception=False)
    outage = Outage(monkeypatch)
    response = client.get("/api/courses", headers={"authorization": "Bearer of-somebody"})
    assert (503, 1) == (response.status_code, outage.unanswered)
    assert "application/problem+json" == response.headers["Content-Type"]
    assert "not available at the moment" in response.json()["detail"]
