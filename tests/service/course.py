"""A course in the service's database, from the small course, with attempts of students."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.app import open_course
from autograder.generate import generate
from autograder.service.receipts import Signer
from tests.support import small_course

if TYPE_CHECKING:
    from autograder.service.models import Attempt, CourseRecord, Offer

SIGNER = Signer(bytes(range(32)))


def small(folder: Path) -> Path:
    """The small course, released, in a folder."""
    generate(small_course.small_course(folder), small_course.NAME)
    return folder


def offered(record: CourseRecord, folder: Path) -> Offer:
    """The small course's assignment, offered by a course of the service."""
    from autograder.service import versions

    offer = versions.offer(record, open_course(folder), small_course.NAME)
    offer.visible = True
    offer.save()
    return offer


def released(folder: Path) -> dict[str, bytes]:
    """What students are given, as they would hand it in."""
    release = folder / "release" / small_course.NAME
    return {path.name: path.read_bytes() for path in sorted(release.glob("*.ipynb"))}


def answered(folder: Path, **answers: str) -> dict[str, bytes]:
    """The release with cells filled in, by grade_id; ``_`` stands for ``-``."""
    files = {}
    for name, data in released(folder).items():
        notebook = json.loads(data)
        for cell in notebook["cells"]:
            place = cell["metadata"].get("nbgrader", {}).get("grade_id", "").replace("-", "_")
            if place in answers:
                cell["source"] = answers[place]
        files[name] = json.dumps(notebook).encode()
    return files


def handed_in(offer: Offer, student: str, files: dict[str, bytes]) -> Attempt:
    """An attempt."""
    from autograder.service import attempts

    return attempts.hand_in(offer, student, files, SIGNER)
