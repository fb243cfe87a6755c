"""A release is parsed strictly, because the course created it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from autograder.core.errors import CourseError
from autograder.notebook.release import load_release


def changed(release_bytes: bytes, name: str, /, **metadata: Any) -> bytes:
    """Return the release with other nbgrader metadata in one cell."""
    tree = json.loads(release_bytes)
    for cell in tree["cells"]:
        nbgrader = cell["metadata"].get("nbgrader", {})
        if nbgrader.get("grade_id") == name:
            nbgrader.update(metadata)
    return json.dumps(tree).encode()


def test_tenths_of_points_stay_exact(release_bytes: bytes) -> None:
    """0.1 in the metadata is exactly a tenth, not the nearest binary fraction."""
    release = load_release(changed(release_bytes, "double", points=0.1), "small-exam")
    assert release.by_id["double"].points == Decimal("0.1")


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"schema_version": 4}, "cell 10: schema_version: expected 3, got 4"),
        ({"grade": "yes"}, "cell 10: grade: expected true or false, got 'yes'"),
        ({"grade_id": ""}, "cell 10: grade_id: expected a name, got ''"),
        ({"grade_id": 7}, "cell 10: grade_id: expected a name, got 7"),
        ({"points": -1}, "cell 10: points: expected a number from 0, got -1"),
        ({"points": True}, "cell 10: points: expected a number from 0, got True"),
        ({"grade_id": "shape"}, "grade_id 'shape' stands in cells 10 and 13; each may stand once"),
    ],
)
def test_unusable_metadata_is_named(release_bytes: bytes, metadata: dict[str, Any], message: str) -> None:
    """The error names the cell, the field, the expected and the actual value."""
    with pytest.raises(CourseError, match=message):
        load_release(changed(release_bytes, "double", **metadata), "small-exam")


def test_a_broken_release_is_the_courses_fault() -> None:
    """Bytes that are not a notebook raise a CourseError that names the release."""
    with pytest.raises(CourseError, match="release 'small-exam': The file is empty"):
        load_release(b"", "small-exam")


def test_cells_without_flags_have_no_id(release_bytes: bytes) -> None:
    """A cell with metadata of nbgrader's toolbar but without flags is an ordinary cell."""
    data = changed(release_bytes, "given", locked=False)
    assert "given" not in load_release(data, "small-exam").by_id
