"""``autograder debugging explain``: the table, the listing to be handed out, and what cannot be told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.running import only_object, run

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
EXPLAIN = ("debugging", "explain", "sheet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A course with the task that ``autograder new`` makes."""
    for words in (("new", "sheet", "--kinds", "debugging"), ("generate", "sheet")):
        made = run(*words, cwd=tmp_path)
        assert 0 == made.returncode, made.stderr
    return tmp_path


def planted_otherwise(folder: Path, before: str, after: str) -> None:
    """Change the rubric, and release it anew."""
    rubric = folder / "rubrics" / "sheet.toml"
    text = rubric.read_text("utf-8")
    assert 1 == text.count(before)
    rubric.write_text(text.replace(before, after), "utf-8")
    assert 0 == run("generate", "sheet", cwd=folder).returncode


def test_faults_are_explained(folder: Path) -> None:
    """Each fault with what it changes, the calls, the same as an object, and the text with all faults."""
    bare = run(*EXPLAIN, "--listing", cwd=folder)
    table = run(*EXPLAIN, cwd=folder)
    assert 0 == table.returncode, table.stderr
    assert "  array [5, 3]: [[" in table.stdout
    assert "debugging: 8 listings" in table.stdout
    work = "8 of 8 sets of faults are run, "
    assert work in table.stdout
    assert f"debugging: {work}" in run("validate", "sheet", cwd=folder).stdout
    assert "model.fit(array [5, 3]); model.invert(array [2, 3])" in table.stdout
    (question,) = only_object(run(*EXPLAIN, "--json", cwd=folder).stdout)["questions"]
    assert ["columns", "order", "back"] == question["faults"]
    assert [] == question["confusions"]
    assert {"columns": 100, "order": 0, "back": 100} in [one["kills"] for one in question["probes"]]
    listing = run(*EXPLAIN, "--listing", cwd=folder).stdout
    assert question["faulty"] == listing == bare.stdout
    assert 2 == len([one for one in question["probes"][0]["inputs"] if one])
    handed_out = (folder / "release" / "sheet" / "sheet.ipynb").read_text("utf-8")
    assert all(line.strip() in handed_out for line in listing.splitlines())


def test_what_cannot_be_told_is_said(folder: Path) -> None:
    """A fault that changes nothing ends it with 1, a class that is not constructed with what to state."""
    planted_otherwise(folder, 'faulty = "- self.mean"', 'faulty = "+ 1 * self.mean"')
    table = run(*EXPLAIN, cwd=folder)
    assert (1, True) == (table.returncode, "not told apart: back: changes nothing" in table.stdout)
    assert 0 == run(*EXPLAIN, "--listing", cwd=folder).returncode
    planted_otherwise(folder, "construct = {}", "")
    refused = run(*EXPLAIN, cwd=folder)
    assert 3 == refused.returncode
    assert "the right listing gives TypeError; state how the code is used: construct" in refused.stderr


def test_another_listing_than_that_of_the_faults_is_an_error(folder: Path) -> None:
    """Validate compares what is handed out with what the rubric states, and names the first other line."""
    notebook = folder / "assignments" / "sheet" / "sheet.ipynb"
    text = notebook.read_text("utf-8")
    assert 1 == text.count("z * self.scale - self.mean")
    notebook.write_text(text.replace("z * self.scale - self.mean", "z * self.scale + 2"), "utf-8")
    told = run("validate", "sheet", cwd=folder)
    assert 1 == told.returncode
    assert "+ 2' where the listing" in told.stdout
    shutil.rmtree(folder / "release")
    assert 0 == run(*EXPLAIN, "--listing", cwd=folder).returncode
