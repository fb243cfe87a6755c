"""What is known to stand as it was written, so that it need not be written again."""

from __future__ import annotations

from pathlib import Path

from autograder.gradebook.written import WrittenMarks, signature
from tests.store.examples import RUBRIC, entry, good, release

RELEASES = {"exam": release()}


def test_copies_that_are_gone_or_others_do_not_stand(tmp_path: Path) -> None:
    """They are known by their size together; another signature never stands."""
    first, second = tmp_path / "one.ipynb", tmp_path / "two.ipynb"
    first.write_bytes(b"four")
    second.write_bytes(b"three")
    written = WrittenMarks("s", 0, 9)
    assert written.stands("s", [first, second])
    assert not written.stands("other", [first, second])
    second.write_bytes(b"longer")
    assert not written.stands("s", [first, second])
    second.unlink()
    assert not written.stands("s", [first, second])


def test_a_signature_is_of_all_that_marks_and_copies_are_made_of() -> None:
    """Result, release and language; not what cells printed, which follows from the submission."""
    entered = entry(good(), RUBRIC)
    same = signature(entered, RELEASES, "en")
    assert same == signature(entry(good(), RUBRIC), dict(RELEASES), "en")
    other_release = {"exam": release() + b" "}
    others = {
        signature(entered, other_release, "en"),
        signature(entered, {"another": release()}, "en"),
        signature(entered, RELEASES, "de"),
        signature(entry(good(), RUBRIC, environment="f" * 64), RELEASES, "en"),
    }
    assert 4 == len(others - {same})
