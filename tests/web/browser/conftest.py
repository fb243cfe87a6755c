"""Chromium with the service as the server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, sync_playwright

if TYPE_CHECKING:
    from tests.web.browser.reader import Reader

_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-quic",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def chromium(address: str) -> Iterator[Browser]:
    """Start one browser for the tests of a file.

    It is closed before the server, which waits for open connections. Playwright runs an event loop in this
    thread, in which Django rejects database access by default.
    """
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no Chromium here")
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as started:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "yes")
        browser = started.chromium.launch(executable_path=program, args=[*_ARGUMENTS])
        yield browser
        browser.close()


@pytest.fixture
def reader(chromium: Browser, address: str) -> Iterator[Callable[..., Reader]]:
    """Return a function that creates readers, and check at the end that they had no errors."""
    from tests.web.browser.reader import Reader

    readers: list[Reader] = []

    def make(**options: Any) -> Reader:
        readers.append(Reader(chromium, address, **options))
        return readers[-1]

    yield make
    for each in readers:
        each.close()
