"""Archives as downloaded from platforms, with arbitrary student files."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

from autograder.authoring import start_assignment
from autograder.course import Course

NAME = "warmup"
ROSTER = """\
id,first_name,last_name,email,login,platform_id
s1001,Ada,Lovelace,ada@example.org,alovelace,4001
s1002,Alan,Turing,alan@example.org,aturing,4002
s1003,Grace,Müller-Hopper,grace@example.org,ghopper,4003
s1004,Alex,Kim,alex1@example.org,akim1,4004
s1005,Alex,Kim,alex2@example.org,akim2,4005
"""


def make_course(root: Path, roster: str = ROSTER) -> Course:
    """Return a course with a class list and an assignment of one notebook."""
    start_assignment(root, NAME, ["written"])
    if roster:
        (root / "roster.csv").write_text(roster, encoding="utf-8")
    return Course.from_folder(root)


def archive(files: Mapping[str, str | bytes]) -> bytes:
    """Return a zip archive of these files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, (2026, 2, 12, 10, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(info, content)
    return made.getvalue()


def link(name: str, target: str) -> bytes:
    """Return a zip archive that contains only a link."""
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        packed.writestr(info, target)
    return made.getvalue()


def encrypted(name: str) -> bytes:
    """Return a zip archive with a single file that is marked as encrypted."""
    data = bytearray(archive({name: "secret"}))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + at] |= 1
    return bytes(data)


def written(path: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write an archive to disk."""
    path.write_bytes(archive(files))
    return path


def tree(root: Path, *tops: str) -> dict[str, bytes]:
    """Return all files below some folders with their content."""
    found = {}
    for top in tops or ("submitted", "earlier"):
        for path in sorted((root / top).rglob("*")):
            if path.is_file():
                found[path.relative_to(root).as_posix()] = path.read_bytes()
    return found
