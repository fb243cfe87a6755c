"""The decoder's catalogue: every fault has a place, a text and a probe, and stands beside the others."""

from __future__ import annotations

import ast
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from autograder.kinds.transformers.repair.verdicts import PROBES
from autograder.kinds.transformers.repair.verdicts import exclusive as told_together
from reference.faults.decoder import ACCEPTED, EXAM, catalogue, listing, trials
from reference.faults.decoder_faults import FAULTS
from reference.faults.fault import Fault, compatible, exclusive
from reference.listings import RIGHT

ENTRIES = {entry["id"]: entry for entry in catalogue()}
SUBSETS = [some for count in (0, 1, 2, 8) for some in combinations(EXAM, count)]


def test_the_common_variant_has_the_eight_faults_of_the_exam() -> None:
    """Ids and order are those of the rubric."""
    expected = (
        "self_mask",
        "residual",
        "cross_mask",
        "position_table",
        "shape_order",
        "embedding_dropout",
        "cross_value",
        "output_head",
    )
    assert expected == EXAM


def test_the_catalogue_is_large_and_plain() -> None:
    """At least ten faults beside the eight, told by at least ten probes beside theirs; all plain values."""
    assert len(ENTRIES) == len(FAULTS) >= 18
    assert len({entry["probe"] for entry in ENTRIES.values()}) >= 18
    for entry in ENTRIES.values():
        assert set(entry) == {"id", "difficulty", "text", "probe", "excludes"}
        assert set(entry["text"]) == {"en", "de"}
        assert entry["difficulty"] in {1, 2, 3}
    assert len({text for entry in ENTRIES.values() for text in entry["text"].values()}) == 2 * len(FAULTS)


def test_the_documentation_lists_each_fault_with_its_level() -> None:
    """The table of the kind's page has a row for each fault, or for two of one probe, and its difficulty."""
    page = (Path(__file__).parents[2] / "docs" / "kinds" / "repair.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    for fault in FAULTS:
        assert str(fault.difficulty) in [row[3].strip() for row in rows if f"`{fault.id}`" in row[1]]


def test_the_repair_kind_knows_the_same_faults() -> None:
    """Each fault has its verdict, and faults of one probe, and no others, have one verdict between them."""
    assert set(ENTRIES) == set(PROBES)
    for one, other in combinations(ENTRIES, 2):
        assert (ENTRIES[one]["probe"] == ENTRIES[other]["probe"]) is (PROBES[one] is PROBES[other])


@pytest.mark.slow
@pytest.mark.parametrize("one", FAULTS, ids=lambda fault: fault.id)
def test_faults_of_one_question_do_not_get_in_each_others_way(one: Fault) -> None:
    """What may be drawn together can be planted in either order, and the repair kind accepts it too."""
    for other in FAULTS:
        if other == one:
            continue
        apart = exclusive(one, other)
        assert apart is told_together(one.id, other.id)
        assert apart is (other.id in ENTRIES[one.id]["excludes"])
        assert apart or compatible(RIGHT, one, other)


def test_a_reason_is_given_for_each_exclusion() -> None:
    """Beside faults of one probe, five pairs: four have no effect, and one leaves the memory unread."""
    reasons = {(fault.id, other): why for fault in FAULTS for other, why in fault.excludes.items()}
    assert {other for fault, other in reasons if fault == "position_missing"} == {
        "position_table",
        "position_width",
        "position_offset",
        "shape_order",
    }
    assert set(reasons) - {pair for pair in reasons if pair[0] == "position_missing"} == {
        ("dropout_always", "embedding_dropout"),
        ("cross_key", "cross_value"),
    }
    assert min(map(len, reasons.values())) > 20


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_each_fault_changes_the_program_and_nothing_around_it(fault: Fault) -> None:
    """The listing with it is another program, whose other lines are the key's."""
    source = listing([fault.id])
    assert ast.dump(ast.parse(RIGHT)) != ast.dump(ast.parse(source))
    kept = [line for line in RIGHT.splitlines() if line in source.splitlines()]
    assert len(kept) >= len(RIGHT.splitlines()) - 1


def test_subsets_of_the_exam_are_different_programs() -> None:
    """No two are the same program, as the edits are apart; with none planted the text is the key's."""
    assert len({ast.dump(ast.parse(listing(faults))) for faults in SUBSETS}) == len(SUBSETS)
    changed = [old for old, new in zip(RIGHT.splitlines(), listing().splitlines(), strict=True) if old != new]
    assert (8, RIGHT) == (len(changed), listing(()))


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        (["residuals"], "unknown faults residuals; known are: self_mask"),
        (["self_mask", "self_unmasked"], "'self_mask' and 'self_unmasked' cannot be in one question"),
        (["shape_order", "position_missing"], "cannot be in one question"),
    ],
)
def test_what_cannot_be_asked_is_refused(faults: list[str], said: str) -> None:
    """A misspelt id, two faults of one place, and faults that hide each other are named."""
    with pytest.raises(ValueError, match=said):
        listing(faults)


def _by_name(faults: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    found = {trial["name"]: trial for trial in trials(faults)}
    assert len(found) == len(trials(faults))
    return found


def test_trials_lose_every_item_and_accept_what_is_right() -> None:
    """Each fault is lost alone; with all but one left, the others are; right repairs lose nothing."""
    found = _by_name(EXAM)
    for fault in EXAM:
        assert [fault] == found[f"{fault} is left"]["loses"]
        assert set(EXAM) - {fault} == set(found[f"{fault} alone is repaired"]["loses"])
    assert ["self_mask"] == found["self_unmasked instead"]["loses"]
    assert [[]] * len(ACCEPTED) == [found[name]["loses"] for name, _ in ACCEPTED]
    assert len({trial["source"] for trial in found.values()}) == len(found)


def test_trials_follow_the_faults_of_the_question() -> None:
    """A question with other faults has trials of its own, without arguments those of the common variant."""
    assert trials() == trials(EXAM)
    found = _by_name(("norm_missing", "token_width"))
    assert ["token_width"] == found["token_table instead"]["loses"]
    assert {"norm_missing", "token_width"} == {item for trial in found.values() for item in trial["loses"]}
