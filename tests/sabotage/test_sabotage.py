"""The weakenings fit the current program, each removes something, and each has a detector."""

from __future__ import annotations

import ast

import pytest

from tests.sabotage.detectors import DETECTORS
from tests.sabotage.weakening import LAYERS, ROOT, Weakening, weakened
from tests.sabotage.weakenings import WEAKENINGS

NAMES = [f"{one.layer}: {one.name}" for one in WEAKENINGS]


@pytest.mark.parametrize("one", WEAKENINGS, ids=NAMES)
def test_a_weakening_fits_the_program(one: Weakening) -> None:
    """Every text occurs exactly once, its replacement differs, and the result is valid Python."""
    contents = {edit.file: (ROOT / edit.file).read_text(encoding="utf-8") for edit in one.edits}
    changed = weakened(contents, one.edits)
    assert set(contents) == set(changed)
    for name, text in changed.items():
        assert text != contents[name]
        if name.endswith(".py"):
            ast.parse(text)


def test_every_layer_is_weakened_and_every_weakening_has_detectors() -> None:
    """There are at least forty with unique names; every detector exists and is used."""
    assert len(WEAKENINGS) >= 40
    assert len(NAMES) == len(set(NAMES))
    assert set(LAYERS) == {one.layer for one in WEAKENINGS}
    assert all(one.noticed_by for one in WEAKENINGS)
    assert set(DETECTORS) == {name for one in WEAKENINGS for name in one.noticed_by}


def test_detectors_name_files_that_exist() -> None:
    """A test file that was renamed would notice nothing."""
    files = [word for one in DETECTORS.values() for word in one.words if word.endswith(".py")]
    assert [] == [name for name in files if not (ROOT / name).is_file()]
