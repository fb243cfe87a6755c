"""The repair question through the whole pipeline: notebook in, real sandbox, score out."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations

import pytest

from autograder.records import ItemResult, Status
from autograder.sandbox.pool import Pool
from reference.faults.decoder import EXAM as FAULT_IDS
from reference.faults.decoder import listing as planted
from tests.support.repair_course import RepairCourse
from tests.support.repair_draws import COVERING
from tests.support.repair_question import listing
from tests.support.repair_variants import FILES, Variant, variants
from tests.support.thorough import sample

pytestmark = [pytest.mark.sandbox, pytest.mark.apart]

SUBSETS = sample([frozenset(some) for count in range(9) for some in combinations(FAULT_IDS, count)], 12)


@pytest.fixture(scope="module")
def class_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RepairCourse]:
    """One course for all tests, its sandboxes warm."""
    with Pool() as pool:
        yield RepairCourse(tmp_path_factory.mktemp("course"), pool)


def _with(results: dict[str, ItemResult], *statuses: Status) -> Collection[str]:
    return {item for item, result in results.items() if result.status in statuses}


@pytest.mark.parametrize("size", range(9))
def test_every_combination_gets_its_eight_bits(class_: RepairCourse, size: int) -> None:
    """Combinations of repaired faults, notebook in and score out, are told exactly."""
    subsets = [subset for subset in SUBSETS if len(subset) == size]
    found = {subset: _with(class_.sit(listing(subset)), Status.PASSED) for subset in subsets}
    assert {subset: set(subset) for subset in subsets} == found


OF_THE_EXAM = sample(
    [variant for file in FILES for variant in variants(file) if variant.planted == list(FAULT_IDS)], 12
)


@pytest.mark.parametrize("variant", OF_THE_EXAM, ids=lambda variant: variant.name)
def test_each_variant_loses_exactly_what_it_says(class_: RepairCourse, variant: Variant) -> None:
    """Accepted repairs earn all eight points, wrong ones lose the named ones."""
    results = class_.sit(variant.source(), variant.later)
    assert set(variant.loses) == _with(results, Status.FAILED, Status.NO_ANSWER)
    assert set(variant.review) == _with(results, Status.NEEDS_REVIEW)


def test_the_untouched_release_scores_nothing(class_: RepairCourse) -> None:
    """What students receive is no answer to any item."""
    assert {result.status for result in class_.sit(None).values()} == {Status.NO_ANSWER}


def test_code_that_ends_the_box_costs_what_it_reaches(class_: RepairCourse) -> None:
    """A decoder whose layers leave the process keeps what was seen without layers."""
    source = "import os\n" + listing(FAULT_IDS).replace(
        "for block in self.blocks:", "for block in self.blocks:\n            os._exit(0)"
    )
    results = class_.sit(source)
    assert _with(results, Status.PASSED) <= {
        "position_table",
        "shape_order",
        "embedding_dropout",
        "output_head",
    }
    assert {results[item].code for item in ("self_mask", "residual", "cross_mask", "cross_value")} == {
        "ending.exited"
    }


@pytest.mark.parametrize("faults", COVERING, ids=["without positions", "with positions"])
def test_questions_with_other_faults_are_told_as_exactly(
    tmp_path_factory: pytest.TempPathFactory, faults: tuple[str, ...]
) -> None:
    """With nothing left, all left, and each half left, exactly what is left fails."""
    left = [(), faults, faults[::2], faults[1::2]]
    with Pool() as pool:
        course = RepairCourse(tmp_path_factory.mktemp("other"), pool, faults)
        found = [_with(course.sit(planted(some)), Status.FAILED) for some in left]
    assert [set(some) for some in left] == [set(some) for some in found]
