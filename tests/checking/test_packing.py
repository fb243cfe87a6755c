"""Files of checks, packed for the judge's box."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from autograder.checking.packing import pack_checks, unpack_checks
from autograder.checking.reading import CheckFile, load_check_file

REFERENCE = Path(__file__).parents[2] / "reference"


@pytest.fixture(scope="module", params=["attention.py", "decoder.py"])
def file(request: pytest.FixtureRequest) -> CheckFile:
    return load_check_file(REFERENCE, request.param)


def test_unpack_gives_all_but_planted_answers(file: CheckFile) -> None:
    assert dataclasses.replace(file, planted=()) == unpack_checks(pack_checks(file))
