"""Archives of any content write nothing outside the attempt's folder, and every refusal is reported."""

from __future__ import annotations

import hashlib
import io
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.core.errors import SourceError
from autograder.course import archives
from autograder.course.archives import (
    PackedFile,
    find_file_name_fault,
    find_location_fault,
    is_leftover,
    open_archive,
)
from autograder.exchange.platforms import staging
from autograder.exchange.platforms.staging import compute_content_digest, prepare_attempt
from tests.support.downloads import archive

PARTS = st.sampled_from(
    ["..", ".", "", "a", "A", "ä", "a\u0308", "con", "x.zip", "=1", ".git", "a\\b", "C:", "n" * 300, "\0"]
)
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join) | st.text(max_size=20)


def entry(path: str, data: bytes, size: int | None = None) -> PackedFile:
    """Return an archive entry with a stated size."""
    return PackedFile(path, len(data) if size is None else size, lambda: io.BytesIO(data))


@given(st.dictionaries(NAMES, st.binary(max_size=8), max_size=8))
def test_no_name_leads_out_of_the_folder(files: dict[str, bytes]) -> None:
    """Files with hostile names are stored inside the folder, reported, or ignored as system files."""
    with tempfile.TemporaryDirectory() as above:
        folder = Path(above) / "inside" / "attempt"
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as made:
            for name, data in files.items():
                info = zipfile.ZipInfo("placeholder")
                info.filename = name
                made.writestr(info, data)
        done = prepare_attempt(folder, "ada", {"all.zip": entry("all.zip", packed.getvalue())}, None, ("a",))
        kept = [path for path in Path(above).rglob("*") if path.is_file()]
        assert all(folder in path.parents for path in kept)
        assert done.files == len(kept)
        passed = sum(name.endswith("/") or is_leftover(name) for name in files)
        assert len(kept) + len(done.refused) + passed >= len(files)


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("a/b.txt", ""),
        ("Übung 1/ä.ipynb", ""),
        ("/a", "absolute"),
        ("D:a", "absolute"),
        ("a//b", "leads out"),
        ("../a", "leads out"),
        ("a/./b", "leads out"),
        ("a\\b", "backslash"),
        ("a\0b", "zero byte"),
        ("x" * 401, "401 characters"),
    ],
)
def test_places_in_an_archive(path: str, fault: str) -> None:
    """Only locations inside the archive are valid."""
    assert (fault in str(find_location_fault(path))) if fault else find_location_fault(path) == ""


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("a/b.txt", ""),
        ("console.txt", ""),
        ("a/COM1.txt", "device"),
        ("nul", "device"),
        ("a:b", "no name on every system"),
        ("a.", "no name on every system"),
        ("-rf", "formula"),
        ("a\u200bb", "U+200B"),
        ("ü" * 101, "200 bytes"),
    ],
)
def test_names_of_files(path: str, fault: str) -> None:
    """Only file names that are valid on every operating system are accepted."""
    assert (fault in str(find_file_name_fault(path))) if fault else find_file_name_fault(path) == ""


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes and the number of files are limited, also if a file is longer than its stated size."""
    monkeypatch.setattr(archives, "MOST_FILE", 10)
    monkeypatch.setattr(staging, "MOST_FILE", 10)
    monkeypatch.setattr(staging, "MOST_ATTEMPT", 15)
    monkeypatch.setattr(staging, "MOST_FILES", 3)
    files = {
        "long": entry("long", b"x" * 11),
        "lies": entry("lies", b"x" * 9, 2),
        "first": entry("first", b"x" * 9),
        "second": entry("second", b"x" * 8),
        "third": entry("third", b"x"),
        "fourth": entry("fourth", b"x"),
        "fifth": entry("fifth", b"x"),
    }
    done = prepare_attempt(tmp_path / "attempt", "ada", files, None, ())
    assert ["first", "fourth", "third"] == sorted(path.name for path in (tmp_path / "attempt").iterdir())
    assert {
        "ada: long": "11 B; at most 10 B are taken",
        "ada: lies": "it is longer than it says",
        "ada: second": "with it there would be more than 15 B altogether",
        "ada: fifth": "there are more than 3 files",
    } == {one.place: str(one.reason) for one in done.refused}
    digests = {
        name: hashlib.sha256(b"x" * size).hexdigest()
        for name, size in (("first", 9), ("third", 1), ("fourth", 1))
    }
    assert compute_content_digest(digests) == done.digest


def test_a_damaged_file_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    """Reject only the file with a wrong checksum; report a file that is not an archive."""
    data = bytearray(archive({"a.txt": "good " * 50, "b.txt": "bad " * 50}))
    at = data.index(b"b.txt") + len("b.txt") + 3
    data[at] ^= 0xFF
    done = prepare_attempt(tmp_path / "attempt", "ada", {"x.zip": entry("x.zip", bytes(data))}, None, ())
    assert ["a.txt"] == [path.name for path in (tmp_path / "attempt").iterdir()]
    assert ["ada: b.txt"] == [one.place for one in done.refused]
    assert "cannot be unpacked" in str(done.refused[0].reason)
    with pytest.raises(SourceError, match="not a zip archive"), open_archive(io.BytesIO(b"nothing"), "x.zip"):
        pass
