"""A course in the service's database, based on the small course, with attempts of students."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.app import open_course
from autograder.core.records import GradingResult, ItemResult, Message, Status
from autograder.grading import grades
from autograder.grading.release_generation import generate_release
from autograder.rubric import Item, Rubric
from autograder.service.receipts import Signer
from tests.support import small_course

if TYPE_CHECKING:
    from autograder.service.models import Account, Attempt, CourseRecord, Offer, VersionTrial

SIGNER = Signer(bytes(range(32)))


def small(folder: Path) -> Path:
    """Create the small course with a release in a folder."""
    generate_release(small_course.small_course(folder), small_course.NAME)
    return folder


def offered(record: CourseRecord, folder: Path) -> Offer:
    """Offer the assignment of the small course in a course of the service."""
    from autograder.service import versions

    offer = versions.create_or_update_offer(record, open_course(folder), small_course.NAME)
    offer.visible = True
    offer.save()
    return offer


def released(folder: Path) -> dict[str, bytes]:
    """Return the notebooks of the release."""
    release = folder / "release" / small_course.NAME
    return {path.name: path.read_bytes() for path in sorted(release.glob("*.ipynb"))}


def answered(folder: Path, **answers: str) -> dict[str, bytes]:
    """Return the notebooks with cells filled in by grade_id, with ``_`` instead of ``-``."""
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
    """Submit an attempt."""
    from autograder.service import attempts

    return attempts.submit_files(offer, student, files, SIGNER)


def canned(rubric: Rubric, attempt: Attempt, right: str = "layers") -> GradingResult:
    """Return a result in which one question is right and the others have no answer."""
    results = {
        question.id: tuple(
            ItemResult(question.id, item.id, *_verdict(question.id == right, item), Message("passed"), "")
            for item in question.items
        )
        for question in rubric.questions
    }
    return GradingResult(grades.compute_score(attempt.student, rubric, results), digest=attempt.digest)


def _verdict(right: bool, item: Item) -> tuple[Status, Decimal, Decimal]:
    if item.manual:
        return Status.NEEDS_REVIEW, Decimal(0), item.points
    return (Status.PASSED, item.points, item.points) if right else (Status.NO_ANSWER, Decimal(0), item.points)


def graded_without_a_box(offer: Offer) -> None:
    """Grade all waiting attempts, and those of the offer's trials, with canned results."""
    from autograder.grading.store import ResultKey
    from autograder.service import attempts, versions
    from autograder.service.trials import grading

    for attempt in offer.attempts.filter(state="waiting"):
        claimed = attempts.claim_attempt(attempt.pk)
        assert claimed is not None
        rubric = versions.load_rubric(attempt.version)
        assert attempts.keep_result(claimed, canned(rubric, attempt), rubric, "e" * 64)
    for trial in grading.list_active_trials().filter(offer=offer):
        grading.catch_up(trial)
        rubric = versions.load_rubric(trial.version)
        for row in trial.results.filter(result=None):
            mine = grading.claim_result(row.pk)
            assert mine is not None
            key = ResultKey.from_submission(mine.attempt.student, mine.attempt.digest, rubric, "e" * 64)
            assert grading.keep_result(mine, canned(rubric, mine.attempt), rubric, key)


def worth(question: str, item: str, points: str) -> Callable[[str], str]:
    """Return an edit of a rubric's text that changes the points of an item and the sums."""

    def edit(text: str) -> str:
        head, name, after_question = text.partition(f'id = "{question}"\n')
        own_part, item_name, behind = after_question.partition(f'id = "{item}"\n')
        match = re.search(r"^points = (\S+)$", behind, flags=re.M)
        assert match, (question, item)
        more = Decimal(points) - Decimal(match[1])
        return _raised(head, more) + name + _raised(own_part, more) + item_name + _raised(behind, more)

    return edit


def _raised(text: str, more: Decimal) -> str:
    """Return the text with its first number of points increased."""
    return re.sub(
        r"^points = (\S+)$", lambda match: f"points = {Decimal(match[1]) + more}", text, count=1, flags=re.M
    )


def tried(
    offer: Offer, folder: Path, by: Account | None, *edits: Callable[[str], str], generated: bool = False
) -> VersionTrial | None:
    """Import the assignment from a copy of the folder with an edited rubric."""
    from autograder.service import trials

    with tempfile.TemporaryDirectory() as place:
        copy = Path(shutil.copytree(folder, Path(place, "course")))
        path = copy / "rubrics" / f"{offer.assignment}.toml"
        for edit in edits:
            path.write_text(edit(path.read_text()))
        if generated:
            generate_release(open_course(copy), offer.assignment)
        _, trial = trials.import_assignment(offer.course, open_course(copy), offer.assignment, by)
    return trial
