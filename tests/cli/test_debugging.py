"""``autograder verify`` on a question of kind ``debugging``: the listing with all faults is handed out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]


def test_another_listing_than_that_of_the_faults_is_an_error(tmp_path: Path) -> None:
    """The first other line is named, and the listing that must stand there is printed as a whole."""
    for words in (("new", "sheet", "--kinds", "debugging"), ("verify", "sheet", "--quick")):
        made = run(*words, cwd=tmp_path)
        assert 0 == made.returncode, made.stderr
    assert "debugging: 8 of 8 sets of faults are run, " in made.stdout
    notebook = tmp_path / "assignments" / "sheet" / "sheet.ipynb"
    text = notebook.read_text("utf-8")
    assert 1 == text.count("z * self.scale - self.mean")
    notebook.write_text(text.replace("z * self.scale - self.mean", "z * self.scale + 2"), "utf-8")
    told = run("verify", "sheet", "--quick", cwd=tmp_path)
    assert 1 == told.returncode
    assert "+ 2' where the listing" in told.stdout
    assert "z * self.scale - self.mean" in told.stdout
