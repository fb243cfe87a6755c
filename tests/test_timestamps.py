"""Submission times: valid contents of timestamp.txt, and messages about invalid ones."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from autograder.core.records import Deduction
from autograder.messages import list_languages, render_message
from autograder.rubric.timestamps import (
    NOTES,
    SlipUse,
    Timing,
    Window,
    format_duration,
    format_moment,
    read_stamp,
    resolve_local_time,
    to_window_zone,
)

BERLIN = ZoneInfo("Europe/Berlin")
WINDOW = Window(
    datetime(2026, 2, 12, 10, 0, tzinfo=BERLIN), datetime(2026, 2, 12, 11, 30, tzinfo=BERLIN), "Europe/Berlin"
)


def stamp(folder: Path, content: str | bytes) -> tuple[datetime | None, str]:
    """Return the moment and fault read from a timestamp.txt."""
    (folder / "timestamp.txt").write_bytes(content.encode() if isinstance(content, str) else content)
    found = read_stamp(folder)
    return found.moment, found.fault


@pytest.mark.parametrize(
    "text",
    [
        "2026-07-01 08:20:30 UTC",
        "2026-07-01 08:20:30 GMT\n",
        "2026-07-01 08:20:30",
        "2026-07-01T08:20:30Z",
        "2026-07-01 10:20:30+02:00",
        "2026-07-01 10:20:30 Europe/Berlin",
        "2026-07-01 10:20:30 CEST",
        "2026-07-01 09:20:30 CET",
        "2026-07-01 04:20:30 America/New_York",
    ],
)
def test_one_moment_in_many_spellings(tmp_path: Path, text: str) -> None:
    """Zones, offsets and daylight saving are respected; without a zone the time is UTC, as in nbgrader."""
    assert (datetime(2026, 7, 1, 8, 20, 30, tzinfo=UTC), "") == stamp(tmp_path, text)


def test_a_time_without_a_zone_does_not_depend_on_the_grader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time without a zone is UTC, independent of the grader's local time zone."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert (datetime(2026, 7, 1, 8, 20, 30, tzinfo=UTC), "") == stamp(tmp_path, "2026-07-01 08:20:30")
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "says '': expected a time"),
        ("yesterday", "says 'yesterday': expected a time such as 2026-02-12 10:20:30 UTC"),
        ("<script>alert(1)</script>", "expected a time"),
        (b"\xff\xfe\x00", "expected a time"),
        ("2026-02-30 10:00:00 UTC", "expected a time"),
        ("2026-02-12 25:00:00 UTC", "expected a time"),
        ("2026-07-01 10:20:30 IST", "the zone 'IST' cannot be told"),
        ("2026-07-01 10:20:30 EST", "the zone 'EST' cannot be told"),
        ("2026-07-01 10:20:30 Europe/Berlim", "the zone 'Europe/Berlim' cannot be told"),
        ("2026-07-01 10:20:30 ../../../etc/passwd", "expected a time"),
        ("2026-07-01 10:20:30 a/../../etc/passwd", "expected a time"),
        ("2026-07-01 10:20:30+02:00 UTC", "it states two zones"),
        ("2026-10-25 02:30:00 Europe/Berlin", "happens twice in Europe/Berlin; state the offset"),
        ("2026-03-29 02:30:00 Europe/Berlin", "does not exist in Europe/Berlin"),
        ("0001-01-01 00:00:00+14:00", "says '0001-01-01 00:00:00+14:00'"),
        ("9999-12-31 23:59:59-14:00", "says '9999-12-31 23:59:59-14:00'"),
        ("x" * 201, "is not a file of one line"),
    ],
)
def test_what_is_no_time_is_said_to_be_none(tmp_path: Path, content: str | bytes, fault: str) -> None:
    """Invalid content gives no time, and a message to staff with the content and the expected format."""
    moment, told = stamp(tmp_path, content)
    assert moment is None
    assert fault in told
    assert told.isascii()


def test_a_missing_file_a_link_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    """A missing file, a link and a folder have different messages; links are not followed."""
    assert "There is no timestamp.txt." == read_stamp(tmp_path).fault
    (tmp_path / "elsewhere").write_text("2026-07-01 08:20:30 UTC")
    (tmp_path / "timestamp.txt").symlink_to(tmp_path / "elsewhere")
    assert "timestamp.txt is a link." == read_stamp(tmp_path).fault
    (tmp_path / "timestamp.txt").unlink()
    (tmp_path / "timestamp.txt").mkdir()
    assert "timestamp.txt is not a file of one line." == read_stamp(tmp_path).fault


def test_clocks_that_are_put_forward_or_back_are_minded() -> None:
    """Repeated and skipped hours at changes of the clock are refused; adjacent ones are accepted."""
    assert (
        timedelta(hours=2)
        == resolve_local_time(datetime.fromisoformat("2026-10-25 01:59"), BERLIN).utcoffset()
    )
    assert (
        timedelta(hours=1)
        == resolve_local_time(datetime.fromisoformat("2026-10-25 03:00"), BERLIN).utcoffset()
    )
    for local in ("2026-10-25 02:00", "2026-03-29 02:59"):
        with pytest.raises(ValueError, match="state the offset from UTC"):
            resolve_local_time(datetime.fromisoformat(local), BERLIN)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "< 1 s"), (40, "40 s"), (3900, "1 h 5 min"), (176_461, "2 d 1 h 1 min 1 s")]
)
def test_lengths_of_time_are_written_in_signs(seconds: float, text: str) -> None:
    """Durations are formatted as days of 24 hours, hours, minutes and seconds, without zeros."""
    assert text == format_duration(timedelta(seconds=seconds))


def test_moments_are_shown_by_the_clock_of_the_exam() -> None:
    """Times are shown in the exam's zone, or in UTC if the zone cannot represent them."""
    moment = datetime(2026, 2, 12, 9, 31, 5, tzinfo=UTC)
    assert "2026-02-12 10:31:05 (Europe/Berlin)" == format_moment(to_window_zone(moment, WINDOW), WINDOW.zone)
    last = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    assert last == to_window_zone(last, WINDOW)


TIMINGS = {
    "": Timing(WINDOW),
    "timing.late": Timing(WINDOW, timedelta(minutes=12, seconds=5)),
    "timing.refused": Timing(WINDOW, timedelta(minutes=12, seconds=5), rule="refuse"),
    "timing.accepted": Timing(WINDOW, timedelta(minutes=12, seconds=5), rule="accept"),
    "timing.penalty": Timing(
        WINDOW, timedelta(minutes=12, seconds=5), rule="penalty", deduction=Deduction(Decimal(10))
    ),
    "timing.slip-covered": Timing(
        WINDOW,
        timedelta(minutes=12, seconds=5),
        timedelta(minutes=12, seconds=5),
        rule="refuse",
        slip=SlipUse(1, 2, 3),
    ),
    "timing.not-known": Timing(WINDOW, doubt="There is no timestamp.txt."),
    "timing.doubt-accepted": Timing(WINDOW, doubt="There is no timestamp.txt.", rule="accept"),
    "timing.earlier": Timing(WINDOW, instead=datetime(2026, 2, 12, 10, 40, tzinfo=UTC)),
}


@pytest.mark.parametrize("code", TIMINGS)
def test_students_and_staff_read_what_is_so(code: str) -> None:
    """Late submissions have a sentence in both languages and a note with its code; timely ones have none."""
    timing = TIMINGS[code]
    (message,), notes = timing.list_messages() or (None,), timing.list_notes()
    assert code == (message.code if message else "")
    assert bool(code) == bool(notes)
    for note in notes:
        assert note.code in NOTES
        assert "2026-02-12 11:30 (Europe/Berlin)" in note.text
    for language in list_languages() if message else ():
        assert message
        assert "2026-02-12 11:30 (Europe/Berlin)" in render_message(message, language)
    if "12 min 5 s" in str(notes):
        assert message
        assert "12 min 5 s" in render_message(message, "de")
    if code == "timing.earlier":
        assert "submitted 10 min after the deadline" in notes[0].text
