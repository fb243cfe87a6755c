"""What is known to stand as it was written, so that it need not be written again."""

from __future__ import annotations

from pathlib import Path

from autograder.store.gradebook.book import WrittenMarks, compute_signature
from tests.store.examples import RUBRIC, entry, good, release

RELEASES = {"exam": release()}


def test_copies_that_are_gone_or_others_do_not_stand(tmp_path: Path) -> None:
    """They are known by their size together; another signature never stands."""
    first, second = tmp_path / "one.ipynb", tmp_path / "two.ipynb"
    first.write_bytes(b"four")
    second.write_bytes(b"three")
    written = WrittenMarks("s", 0, 9)
    assert written.is_current("s", [first, second])
    assert not written.is_current("other", [first, second])
    second.write_bytes(b"longer")
    assert not written.is_current("s", [first, second])
    second.unlink()
    assert not written.is_current("s", [first, second])


def test_a_signature_is_of_all_that_marks_and_copies_are_made_of() -> None:
    """Result, release and language; not what cells printed, which follows from the submission."""
    entered = entry(good(), RUBRIC)
    same = compute_signature(entered, RELEASES, "en")
    assert same == compute_signature(entry(good(), RUBRIC), dict(RELEASES), "en")
    other_release = {"exam": release() + b" "}
    others = {
        compute_signature(entered, other_release, "en"),
        compute_signature(entered, {"another": release()}, "en"),
        compute_signature(entered, RELEASES, "de"),
        compute_signature(entry(good(), RUBRIC, environment="f" * 64), RELEASES, "en"),
    }
    assert 4 == len(others - {same})
