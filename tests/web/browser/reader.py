"""A user of a real browser, with the checks that apply to every page."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, Response

from tests.web.people import PASSWORD, Small

WIDE, NARROW, WIDEST = 1366, 390, 1920
"""Widths in pixels of a laptop, a phone and a desktop."""
HEIGHT = 768
SHOTS = os.environ.get("SCREENSHOTS", "")
"""Folder for a screenshot of every checked page."""
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice")
_AXE = Axe()
_LOADED = "() => typeof axe === 'object'"
_CLIPPED = (
    "() => [...document.querySelectorAll('.scroll')]"
    ".filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.ariaLabel)"
)
_OVER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Reader:
    """A browser context with one page, which collects all errors."""

    def __init__(self, browser: Browser, address: str, **options: Any) -> None:
        self.address = address
        self.context: BrowserContext = browser.new_context(
            base_url=address,
            viewport={"width": WIDE, "height": HEIGHT},
            reduced_motion="reduce",  # contrast cannot be measured during transitions
            **{"locale": "en", **options},
        )
        self.context.set_default_timeout(300_000)
        self.page: Page = self.context.new_page()
        self.wrong: list[str] = []
        self.looked_at: list[str] = []
        self._expected = 0
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.wrong.append(f"script: {error}"))
        self.page.on("requestfailed", self._failed)
        self.page.on("response", self._answered)

    def _said(self, message: ConsoleMessage) -> None:
        line = f"{message.type}: {message.text}"
        is_expected = self._expected and f"status of {self._expected}" in message.text
        if message.type in {"error", "warning"} and not is_expected:
            self.wrong.append(line)

    def _failed(self, request: Request) -> None:
        # Downloads and requests of a page that was left end with this error.
        if "ERR_ABORTED" not in str(request.failure):
            self.wrong.append(f"request: {request.url} {request.failure}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400 and response.status != self._expected:
            self.wrong.append(f"{response.status}: {response.url}")

    def close(self) -> None:
        """Close the context and check that there were no errors."""
        self.context.close()
        assert [] == self.wrong

    # ------------------------------------------------------------ navigation

    def goto(self, path: str, status: int = 200) -> None:
        """Open a page of the service and check the status."""
        self._expected = status if status >= 400 else 0
        answer = self.page.goto(path)
        assert answer is not None
        assert status == answer.status, path

    def is_known(self, at: Small, role: str = "student", student: str = "") -> None:
        """Sign in without the form, which has a separate test."""
        client = at.client(role, student)
        name = settings.SESSION_COOKIE_NAME
        cookie = {"name": name, "value": client.cookies[name].value, "url": f"{self.address}/app/"}
        self.context.add_cookies([cookie])  # type: ignore[list-item]

    def signs_in(self, at: Small, role: str = "student", student: str = "") -> None:
        """Sign in with the form."""
        account = at.account(role, student)
        assert account is not None
        self.goto("/app/")
        self.page.locator("#id_login").fill(account.username)
        self.page.locator("#id_password").fill(PASSWORD)
        self.send()

    def switches(self, language: str) -> None:
        """Change the language with the menu of the page."""
        if self.language() != language:
            menu = self.page.locator("header details.dropdown > summary")
            if menu.count():
                menu.click()
            self.click(self.page.locator(f'button[name="language"][value="{language}"]'))
        assert language == self.language()

    def language(self) -> str:
        """Return the language of the page."""
        return str(self.page.locator("html").get_attribute("lang"))

    def press(self, name: str, within: str = "main") -> None:
        """Click on the button with this name."""
        self.click(self.page.locator(within).get_by_role("button", name=name, exact=True))

    def follow(self, name: str, within: str = "body") -> None:
        """Click on the link with this name."""
        self.click(self.page.locator(within).get_by_role("link", name=name, exact=True))

    def send(self) -> None:
        """Submit the form of the page."""
        self.click(self.page.locator("main form:not(.inline) button").first)

    def click(self, place: Locator) -> None:
        """Click on an element and wait for the next page."""
        with self.page.expect_navigation():
            place.click()

    def download(self, name: str) -> bytes:
        """Download the file of a link."""
        with self.page.expect_download() as downloaded:
            self.page.get_by_role("link", name=name, exact=True).click()
        return downloaded.value.path().read_bytes()

    def text(self) -> str:
        """Return the text of the page."""
        return self.page.locator("main").inner_text()

    # ------------------------------------------------------------ checks

    def looks(self, name: str) -> None:
        """Check what applies to every page, at every width, in light and dark mode.

        Axe runs on the laptop in light mode and on the phone in dark mode. A desktop differs only in the size
        of the text.
        """
        self.looked_at.append(name)
        for width, scheme in ((WIDE, "light"), (NARROW, "dark"), (WIDEST, "dark")):
            self.page.set_viewport_size({"width": width, "height": HEIGHT})
            self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            where = f"{name} at {width} px"
            assert 0 >= self.page.evaluate(_OVER), f"{where}: wider than the window"
            clipped = self.page.evaluate(_CLIPPED)
            assert [] == clipped, f"{where}: has to be scrolled sideways"
            self._shot(f"{name}-{self.language()}-{width}")
            unreachable = [] if width == WIDEST else self.unreachable()
            assert not unreachable, f"{where}: {unreachable}"
        self.page.set_viewport_size({"width": WIDE, "height": HEIGHT})
        self.page.emulate_media(color_scheme="null")
        assert not self.wrong, f"{name}: {self.wrong}"

    def unreachable(self) -> list[str]:
        """Return the accessibility violations that axe finds."""
        if not self.page.evaluate(_LOADED):
            self.page.evaluate(_AXE.axe_script)
        options = {"runOnly": list(RULES), "resultTypes": ["violations"], "iframes": False}
        report = self.page.evaluate("options => axe.run(options)", options)
        return [
            f"{violation['id']}: {violation['help']}: {[node['html'] for node in violation['nodes']]}"
            for violation in report["violations"]
        ]

    def _shot(self, name: str) -> None:
        if SHOTS:
            path = Path(SHOTS) / f"{re.sub(r'[^a-z0-9-]+', '-', name.lower())}.png"
            self.page.screenshot(path=path, full_page=True)
