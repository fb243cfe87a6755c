"""Prints a page as PDF with an installed Chromium."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from msgspec import Struct

from autograder import atomic

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""In the order in which they are looked up on PATH."""
LEAST_VERSION = 131
"""The first version that prints the margin boxes of CSS, which hold the field for the name."""
SECONDS = 120
_MOST_SAID = 300


class Printed(Struct, frozen=True):
    """The result of printing."""

    problem: str = ""
    """The reason why there is no PDF, in a sentence; empty if there is one."""


def print_pdf(html: str, path: Path, seconds: float = SECONDS) -> Printed:
    """Write the page as a PDF. Failures of the browser are returned, never raised.

    The browser gets a file, a fresh profile in a temporary folder, and no network.

    Args:
        html: the page.
        path: of the PDF, which is written completely or not at all.
        seconds: time limit for the browser.
    """
    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        return Printed(f"no browser for PDF was found; install one of {', '.join(PROGRAMS)}")
    with tempfile.TemporaryDirectory(prefix="autograder-print-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        version = _run([program, "--version"], folder, 20)
        number = re.search(r"\b([0-9]{1,6})\.[0-9]+\.[0-9]+", version.said)
        if version.problem or number is None or int(number[1]) < LEAST_VERSION:
            told = version.problem or f"it says {version.said[:_MOST_SAID]!r}"
            return Printed(f"{program}: expected Chromium {LEAST_VERSION} or later; {told}")
        page, made = folder / "page.html", folder / "page.pdf"
        page.write_text(html, "utf-8")
        run = _run([program, *_options(folder, made), page.as_uri()], folder, seconds)
        content = made.read_bytes() if made.is_file() else b""
        # Chromium can exit with 0 although it wrote no PDF.
        if run.problem or not content.startswith(b"%PDF-"):
            told = run.problem or f"it made no PDF: {run.said[-_MOST_SAID:] or 'without a word'}"
            return Printed(f"{program}: {told}")
    atomic.write(path, content)
    return Printed()


def _options(folder: Path, made: Path) -> list[str]:
    return [
        "--headless=new",
        # The page is our own and runs no script; as root the browser's sandbox cannot be set up.
        *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-extensions",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--no-default-browser-check",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder / 'profile'}",
        "--no-pdf-header-footer",
        f"--print-to-pdf={made}",
    ]


class _Ran(Struct, frozen=True):
    said: str
    problem: str = ""


def _run(command: list[str], home: Path, seconds: float) -> _Ran:
    """Run a program with a private home folder, and kill it and its children after the time limit."""
    environment = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_CACHE_HOME": str(home)}
    try:
        with subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as running:
            try:
                said, _ = running.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                _end(running)
                return _Ran("", f"it was not done after {seconds:g} seconds")
    except OSError as error:
        return _Ran("", f"it cannot be started: {error.strerror}")
    problem = (
        f"it ended with code {running.returncode}: {said.strip()[-_MOST_SAID:]}" if running.returncode else ""
    )
    return _Ran(said.strip(), problem)


def _end(running: subprocess.Popen[str]) -> None:
    """Kill a process that was not yet waited for, with all of its process group."""
    if hasattr(os, "killpg"):
        # The process leads its own group (`start_new_session`), and its id cannot have been reused yet.
        os.killpg(running.pid, signal.SIGKILL)
    else:  # Windows
        running.kill()
