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

from autograder.core import atomic

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""In the order in which they are looked up on PATH."""
LEAST_VERSION = 131
"""The first version that prints the margin boxes of CSS, which hold the field for the name."""
SECONDS = 120
_MOST_SAID = 300


class PrintResult(Struct, frozen=True):
    """The result of printing."""

    problem: str = ""
    """The reason why there is no PDF, in a sentence; empty if there is one."""


def print_pdf(html: str, path: Path, seconds: float = SECONDS) -> PrintResult:
    """Write the page as a PDF. Failures of the browser are returned, never raised.

    The browser gets a file, a fresh profile in a temporary folder, and no network.

    Args:
        html: the page.
        path: of the PDF, which is written completely or not at all.
        seconds: time limit for the browser.
    """
    program = next((executable for name in PROGRAMS if (executable := shutil.which(name))), None)
    if program is None:
        return PrintResult(f"no browser for PDF was found; install one of {', '.join(PROGRAMS)}")
    with tempfile.TemporaryDirectory(prefix="autograder-print-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        version = _run_program([program, "--version"], folder, 20)
        number = re.search(r"\b([0-9]{1,6})\.[0-9]+\.[0-9]+", version.said)
        if version.problem or number is None or int(number[1]) < LEAST_VERSION:
            reason = version.problem or f"it says {version.said[:_MOST_SAID]!r}"
            return PrintResult(f"{program}: expected Chromium {LEAST_VERSION} or later; {reason}")
        page, pdf_path = folder / "page.html", folder / "page.pdf"
        page.write_text(html, "utf-8")
        run = _run_program([program, *_build_options(folder, pdf_path), page.as_uri()], folder, seconds)
        content = pdf_path.read_bytes() if pdf_path.is_file() else b""
        # Chromium can exit with 0 although it wrote no PDF.
        if run.problem or not content.startswith(b"%PDF-"):
            reason = run.problem or f"it made no PDF: {run.said[-_MOST_SAID:] or 'without a word'}"
            return PrintResult(f"{program}: {reason}")
    atomic.write_bytes(path, content)
    return PrintResult()


def _build_options(folder: Path, pdf_path: Path) -> list[str]:
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
        f"--print-to-pdf={pdf_path}",
    ]


class _RunResult(Struct, frozen=True):
    said: str
    problem: str = ""


def _run_program(command: list[str], home: Path, seconds: float) -> _RunResult:
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
                _kill_process(running)
                return _RunResult("", f"it was not done after {seconds:g} seconds")
    except OSError as error:
        return _RunResult("", f"it cannot be started: {error.strerror}")
    problem = (
        f"it ended with code {running.returncode}: {said.strip()[-_MOST_SAID:]}" if running.returncode else ""
    )
    return _RunResult(said.strip(), problem)


def _kill_process(running: subprocess.Popen[str]) -> None:
    """Kill a process that was not yet waited for, with all of its process group."""
    if hasattr(os, "killpg"):
        # The process leads its own group (`start_new_session`), and its id cannot have been reused yet.
        os.killpg(running.pid, signal.SIGKILL)
    else:  # Windows
        running.kill()
