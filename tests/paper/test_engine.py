"""Making a PDF: with a fake browser, and with the real one where there is one."""

from __future__ import annotations

import os
import re
import shutil
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.pages.paper import engine, print_pdf

FAKE = """#!/bin/sh
if [ "$1" = --version ]; then echo "Chromium {version}.0.1.2"; exit 0; fi
for word in "$@"; do
    case "$word" in --print-to-pdf=*) out="${{word#*=}}";; file:*) page="${{word#file://}}";; esac
done
{body}
"""


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Puts a fake Chromium first, and alone, on PATH."""

    def put(body: str, version: int = 200) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        for tool in ("sh", "cat", "sleep", "env", "ls", "pwd"):
            (folder / tool).symlink_to(shutil.which(tool) or "")
        program = folder / "chromium"
        program.write_text(FAKE.format(version=version, body=body))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        return program

    return put


def test_a_browser_gets_a_file_and_its_output_is_kept(browser: Callable[..., Path], tmp_path: Path) -> None:
    """The page lies in a file of a folder of its own, and the PDF ends where it was asked for."""
    browser('printf "%%PDF-1.4 " > "$out"; cat "$page" >> "$out"; echo "$HOME" >> "$out"')
    made = tmp_path / "made.pdf"
    assert engine.PrintResult() == print_pdf("<p>ä</p>", made)
    content = made.read_text("utf-8")
    assert content.startswith("%PDF-1.4 <p>ä</p>")
    home = Path(content.removeprefix("%PDF-1.4 <p>ä</p>").strip())
    assert home != Path.home()
    assert not home.exists()


def test_no_browser_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a browser the sentence names those that would do."""
    monkeypatch.setenv("PATH", str(tmp_path))
    problem = print_pdf("<p></p>", tmp_path / "made.pdf").problem
    assert "install one of chromium, chromium-browser, google-chrome" in problem


@pytest.mark.parametrize(
    ("body", "version", "said"),
    [
        ("echo broken screen >&2; exit 3", 200, "ended with code 3: broken screen"),
        ("exit 0", 200, "made no PDF: without a word"),
        ('echo "<html>" > "$out"', 200, "made no PDF"),
        ("exit 0", 90, "expected Chromium 131 or later; it says 'Chromium 90.0.1.2'"),
    ],
)
def test_a_failing_browser_is_a_sentence(
    browser: Callable[..., Path], tmp_path: Path, body: str, version: int, said: str
) -> None:
    """Whatever a browser does instead of a PDF, nothing is left and the reason is told."""
    browser(body, version)
    made = tmp_path / "made.pdf"
    assert said in print_pdf("<p></p>", made).problem
    assert not made.exists()


def test_a_browser_that_hangs_is_ended(browser: Callable[..., Path], tmp_path: Path) -> None:
    """When time is up the browser and what it started are gone."""
    browser(f"sleep 300 & echo $! > {tmp_path}/child; wait")
    assert "not done after 1 seconds" in print_pdf("<p></p>", tmp_path / "made.pdf", seconds=1).problem
    child = int((tmp_path / "child").read_text())
    for _ in range(50):
        if not _running(child):
            break
        time.sleep(0.1)
    assert not _running(child)


def _running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\tzombie" not in Path(f"/proc/{pid}/status").read_text().replace("State:\tZ", "\tzombie")


def test_the_exam_as_pdf(page: Callable[..., str], tmp_path: Path) -> None:
    """A real browser makes a PDF of many pages."""
    made = tmp_path / "exam.pdf"
    problem = print_pdf(page("de"), made).problem
    if "no browser" in problem or "expected Chromium" in problem:
        pytest.skip("there is no Chromium here that prints; the page itself is tested above")
    assert "" == problem
    content = made.read_bytes()
    streams = re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL)
    inflated = b"".join(_inflated(stream) for stream in (content, *streams))
    assert 10 < len(re.findall(rb"/Type\s*/Page\b", content + inflated))


def _inflated(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return b""
