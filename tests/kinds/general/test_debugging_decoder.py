"""The decoder by the general way: all sets of faults are told, no answer of the catalogue is misjudged."""

from __future__ import annotations

import os
import statistics
import tomllib
from collections.abc import Iterator

import pytest

from autograder.kinds.general.debugging import planted
from autograder.records import ItemResult, Status
from autograder.sandbox.pool import Pool
from reference.faults.decoder import listing
from reference.listings import GIVEN
from tests.support.debugging_course import DebuggingCourse, task
from tests.support.repair_variants import FILES, FOLDER, Variant, variants
from tests.support.thorough import sample

pytestmark = [pytest.mark.sandbox, pytest.mark.apart]

DRAWS = int(os.environ.get("REPAIR_DRAWS", "1"))
"""How many courses, each with a secret of its own; `REPAIR_DRAWS`."""
MOST = 3
"""Times the processor time of a right answer, for the answers of the catalogue on average.

A right one is decided by what is asked of everybody, the others meet what is further as well.
"""
ALL_VARIANTS = "REPAIR_DRAWS" in os.environ
WAITING: dict[str, list[str]] = tomllib.loads((FOLDER / "general.toml").read_text(encoding="utf-8"))["waits"]
"""Answer → the items that go to a person by the general way and not by the experiments."""


@pytest.fixture(scope="module", params=range(DRAWS))
def course(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DebuggingCourse]:
    """The task with hidden inputs of its own."""
    with Pool() as pool:
        yield DebuggingCourse(tmp_path_factory.mktemp("decoder") / str(request.param), pool, *task("decoder"))


def having(results: dict[str, ItemResult], *statuses: Status) -> set[str]:
    """The items with one of these."""
    return {name for name, one in results.items() if one.status in statuses}


def answers() -> list[Variant]:
    """Those of the catalogue that were handed out with the exam's eight faults."""
    faults = {one["id"] for one in tomllib.loads(task("decoder")[0])["question"][0]["item"]}
    every = [one for file in FILES for one in variants(file) if set(one.planted) == faults]
    return every if ALL_VARIANTS else sample(every, 60)


def test_every_set_of_faults_is_told(course: DebuggingCourse) -> None:
    """All 256 lose exactly their faults, with nothing for a person; alternatives with few faults as well."""
    assert () == course.search.confusions
    assert () == tuple(course.check.mistaken(course.named))
    assert 256 == len(course.search.listings.subsets)
    assert len(course.named) > 256 + 3 * 30
    for one in course.named:
        results = course.judge(one.observed)
        lost, waiting = having(results, Status.FAILED), having(results, Status.NEEDS_REVIEW)
        assert (set(one.code.split()) & set(course.faults), set()) == (lost, waiting), one.code


def test_right_code_in_other_words_loses_nothing(course: DebuggingCourse) -> None:
    """The listing itself with all of its faults loses each of them; rewritten without any, none."""
    assert set(course.faults) == having(course.sit(course.listing.text(course.faults)), Status.FAILED)
    for words, source in planted.rewritten(course.listing.source):
        passed = having(course.sit(source), Status.PASSED)
        assert set(course.faults) == passed, words


def test_no_answer_of_the_catalogue_is_misjudged(course: DebuggingCourse) -> None:
    """What is decided is decided as it has to be; what goes to a person is written down.

    No bound is in seconds, which are another machine's.
    """
    right, seconds = [], []
    for number in range(5):
        course.sit(f"{GIVEN}\n\n{listing(())}# {number}\n")
        right.append(course.processor_seconds)
    for answer in answers():
        results = course.sit("\n\n".join([GIVEN, answer.source(), *answer.cells_after()]))
        seconds.append(course.processor_seconds)
        waiting = having(results, Status.NEEDS_REVIEW)
        lost = having(results, Status.FAILED, Status.NO_ANSWER)
        assert waiting <= {*answer.review, *WAITING.get(answer.name, ())}, answer.name
        must = set(answer.loses)
        assert must - waiting <= lost <= {*must, *answer.review}, answer.name
    assert statistics.mean(seconds) < MOST * statistics.median(right)


def test_what_is_said_to_wait_is_an_answer() -> None:
    """Each name of the list stands in the catalogue, and nothing that right code needs waits."""
    assert set(WAITING) <= {one.name for file in FILES for one in variants(file)}
    assert not set(WAITING) & {one.name for one in variants("accepted")}


def test_a_decoder_of_somebody_else_loses_what_it_must(course: DebuggingCourse) -> None:
    """Or it waits for a person, as does what no relation can tell; right ones lose nothing."""
    texts = [(FOLDER / f"held-{number}.toml").read_text(encoding="utf-8") for number in (3, 4)]
    for answer in [one for text in texts for one in tomllib.loads(text)["answer"]]:
        results = course.sit(f"{GIVEN}\n\n{answer['source']}")
        lost, passed = having(results, Status.FAILED, Status.NO_ANSWER), having(results, Status.PASSED)
        must, arguable = set(answer["faults_left"]), set(answer["arguable"])
        assert lost <= must | arguable, answer["name"]
        assert not passed & must, answer["name"]
