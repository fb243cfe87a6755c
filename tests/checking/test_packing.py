"""Files of checks, packed for the judge's box."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.checking.packing import pack_checks, unpack_checks
from autograder.checking.reading import CheckFile, load_check_file

REFERENCE = Path(__file__).parents[2] / "reference"


@pytest.fixture(scope="module", params=["attention.py", "decoder.py"])
def file(request: pytest.FixtureRequest) -> CheckFile:
    return load_check_file(REFERENCE, request.param)


def test_unpack_gives_all_but_planted_answers(file: CheckFile) -> None:
    unpacked = unpack_checks(pack_checks(file))
    assert not unpacked.planted
    for name in ("module", "modules", "solution", "solution_module", "given", "names", "uses_torch"):
        assert getattr(unpacked, name) == getattr(file, name)
    assert [check.parts for check in unpacked.checks] == [check.parts for check in file.checks]
    assert [(mutant.name, mutant.source) for mutant in unpacked.mutants] == [
        (mutant.name, mutant.source) for mutant in file.mutants
    ]
    for check in file.faults:
        assert unpacked.make_listing([check.id]) == file.make_listing([check.id])
    for check in file.checks:
        assert unpacked.extract_carried(unpacked.get_check(check.id)) == file.extract_carried(check)
