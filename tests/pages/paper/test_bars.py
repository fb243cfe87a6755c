"""Bars of fractions and roots touch no letter in any font, compared by pixels."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from autograder.pages.feedback.sanitise import clean_mathml
from autograder.pages.feedback.typeset import render_tex
from tests.cli.running import ROOT

STYLES = ("pages/templates/sheet.css", "pages/templates/look/palette.css")
FRACTION, ROOT_SIGN = r"\frac{g(y)}{d_{model}}", r"\sqrt{h}"


def lines_beside_the_bar(folder: Path, formula: str, style: str, sign: int = 0) -> tuple[int, int]:
    """Return the dark pixels directly above and below the bar, skipping the sign that joins it."""
    image = pytest.importorskip("PIL.Image")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no browser")
    css = (ROOT / "autograder" / style).read_text("utf-8")
    look = f"{css} body {{ background: #fff; color: #000; margin: 0; padding: 20px; font-size: 60px; }}"
    page, shot = folder / "page.html", folder / "shot.png"
    shown = clean_mathml(render_tex(formula))
    page.write_text(f"<!doctype html><meta charset=utf-8><style>{look}</style><body>{shown}</body>", "utf-8")
    options = ["--headless=new", "--disable-gpu", "--no-first-run", f"--user-data-dir={folder / 'profile'}"]
    options += ["--no-sandbox"] if os.geteuid() == 0 else []
    options += ["--window-size=900,500", f"--screenshot={shot}", page.as_uri()]
    subprocess.run([program, *options], check=True, capture_output=True, timeout=300)
    grey = image.open(shot).convert("L")
    rows = [[grey.getpixel((x, y)) < 128 for x in range(grey.width)] for y in range(grey.height)]
    lengths = [longest_run(row) for row in rows]
    length, start = max(lengths)
    bar = [y for y, bounds in enumerate(lengths) if bounds == (length, start)]
    inside = slice(start + sign, start + length)
    return sum(rows[bar[0] - 2][inside]), sum(rows[bar[-1] + 2][inside])


def longest_run(row: list[bool]) -> tuple[int, int]:
    """Return length and start of the longest run of dark pixels."""
    longest, start = (0, 0), 0
    for x, is_dark in enumerate([*row, False]):
        if not is_dark:
            longest = max(longest, (x - start, start))
            start = x + 1
    return longest


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
def test_bars_of_fractions_touch_nothing(tmp_path: Path, style: str) -> None:
    """The bar touches neither numerator nor denominator."""
    assert (0, 0) == lines_beside_the_bar(tmp_path, FRACTION, style)


@pytest.mark.slow
def test_bars_of_roots_touch_nothing_below(tmp_path: Path) -> None:
    """Apart from the root sign at its left end, the bar touches nothing below it."""
    assert 0 == lines_beside_the_bar(tmp_path, ROOT_SIGN, STYLES[0], sign=12)[1]
