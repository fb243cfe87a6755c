"""Web processes under many sign-ins: password hashing is sequential and does not block other pages."""

from __future__ import annotations

import re
import resource
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from django.contrib.auth.hashers import Argon2PasswordHasher

from autograder.web import password_hashing, processes
from tests.web.people import PASSWORD, Small

SIGN_INS = 12
"""More than the number of threads of a process."""


def post_sign_in(address: str, name: str, ready: threading.Barrier) -> int:
    """Sign in at the same time as others, and return the status before the redirect."""
    browser = requests.Session()
    page = f"{address}/app/accounts/login/"
    token = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', browser.get(page, timeout=300).text)[0]
    form = {"login": name, "password": PASSWORD, "csrfmiddlewaretoken": token}
    ready.wait()
    return browser.post(page, form, timeout=300, allow_redirects=False).status_code


def test_pages_are_answered_while_sign_ins_wait(
    at: Small, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages are served while all threads for passwords are busy; afterwards every sign-in succeeds."""
    account, arrived, go_on = at.account("ta"), threading.Semaphore(0), threading.Event()
    ready = threading.Barrier(SIGN_INS, timeout=300)
    assert account is not None
    verify = password_hashing.SequentialArgon2Hasher.verify

    def verify_later(self: password_hashing.SequentialArgon2Hasher, password: str, encoded: str) -> bool:
        arrived.release()
        assert go_on.wait(300)
        return verify(self, password, encoded)

    monkeypatch.setattr(password_hashing.SequentialArgon2Hasher, "verify", verify_later)
    with ThreadPoolExecutor(SIGN_INS) as people:
        try:
            signed_in = [
                people.submit(post_sign_in, address, account.username, ready) for _ in range(SIGN_INS)
            ]
            assert arrived.acquire(timeout=300)
            for _ in range(20):  # long enough for the others to arrive
                assert 200 == requests.get(f"{address}/app/accounts/login/", timeout=60).status_code
        finally:
            go_on.set()
        assert {302} == {response.result(300) for response in signed_in}


def test_one_password_is_hashed_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one thread hashes at a time, and the results are correct."""
    hasher = password_hashing.SequentialArgon2Hasher()
    running, most = [], []
    verify = Argon2PasswordHasher.verify

    def count(self: Argon2PasswordHasher, password: str, encoded: str) -> bool:
        running.append(password)
        most.append(len(running))
        try:
            return bool(verify(self, password, encoded))
        finally:
            running.pop()

    monkeypatch.setattr(Argon2PasswordHasher, "verify", count)
    hashed = hasher.encode("right", "salt-of-the-test")
    with ThreadPoolExecutor(8) as people:
        answers = list(people.map(lambda word: hasher.verify(word, hashed), ["right", "wrong"] * 8))
    assert [True, False] * 8 == answers
    assert {1} == set(most)


def test_hashes_of_earlier_releases_are_known_and_replaced(
    at: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old hashes with eight lanes are accepted, and replaced by ones with a single lane."""
    account = at.account("ta")
    assert account is not None
    monkeypatch.setattr(Argon2PasswordHasher, "parallelism", 8)
    account.password = Argon2PasswordHasher().encode(PASSWORD, "salt-of-the-test")
    account.save()
    form = {"login": account.username, "password": PASSWORD}
    assert 302 == at.client("nobody").post("/app/accounts/login/", form).status_code
    account.refresh_from_db()
    assert ",p=1$" in account.password


@pytest.mark.parametrize(
    ("limits", "raised"),
    [
        ((1024, 524288), [(4500, 524288)]),
        ((1024, resource.RLIM_INFINITY), [(4500, resource.RLIM_INFINITY)]),
        ((1024, 2000), [(2000, 2000)]),
        ((20000, 20000), []),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), []),
    ],
)
def test_the_file_limit_is_raised_as_far_as_allowed(
    limits: tuple[int, int], raised: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is never lowered, and never above the hard limit."""
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: calls.append(new))
    processes.raise_file_limit()
    assert raised == calls
