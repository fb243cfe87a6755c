"""The service on a port of its own, and Chromium in front of it."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
import waitress
from playwright.sync_api import Browser, sync_playwright

from autograder.service.postgres import EmbeddedPostgres

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
def address(service_database: EmbeddedPostgres) -> Iterator[str]:
    """Where the service answers."""
    from django.core.wsgi import get_wsgi_application
    from django.test import override_settings

    server = waitress.create_server(get_wsgi_application(), host="127.0.0.1", port=0, threads=4)

    def serve() -> None:
        with contextlib.suppress(OSError):  # of a socket that is closed below
            server.run()

    serving = threading.Thread(target=serve, daemon=True)
    with override_settings(ALLOWED_HOSTS=["127.0.0.1", "testserver"]):
        serving.start()
        yield f"http://127.0.0.1:{server.effective_port}"
        server.close()
        serving.join()


@pytest.fixture(scope="module")
def chromium(address: str) -> Iterator[Browser]:
    """One browser for the tests of a file; closed before the server, which waits for open connections.

    While it runs, this thread counts as one with an event loop; Django would then refuse its database.
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
    """A function that makes readers, of which nothing may have gone wrong when they are done."""
    from tests.web.browser.reader import Reader

    made: list[Reader] = []

    def make(**options: Any) -> Reader:
        made.append(Reader(chromium, address, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()
