"""docs/files.md is correct: its assignment is created, verified and graded as described."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from autograder.app import open_course, preparation
from autograder.app.classes import collect_standings, grade_class
from autograder.core.records import FileState
from autograder.course import Course

pytestmark = pytest.mark.sandbox

PAGE = (Path(__file__).parents[1] / "docs/files.md").read_text("utf-8")
NAME = "bigram"
CORPUS = "the cat saw the dog and the cat ran"


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Return the course that a reader of the page has created."""
    root = tmp_path_factory.mktemp("course")
    files = dict(re.findall(r"^```python\n# (\S+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
    rubric = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[0]
    sources = f"assignments/{NAME}"
    references = {"reference/checks/pairs.py", "reference/checks/probabilities.py"}
    assert {f"{sources}/lm.py", f"{sources}/tools/words.py", *references} == set(files)
    files |= {
        f"rubrics/{NAME}.toml": rubric,
        f"{sources}/corpus.txt": CORPUS,
        f"{sources}/report.md": "What can the model not learn?\n",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    words = sorted(set(CORPUS.split()))
    counts = np.array([CORPUS.count(f"the {word}") for word in words])
    np.save(root / sources / "probabilities.npy", counts / counts.sum())
    return open_course(root)


def test_the_assignment_of_the_page_is_made_and_proven(course: Course) -> None:
    """The key earns all automatic points, the release none, and the outputs are stored with the key."""
    written = preparation.release(course, NAME)
    given = {path.relative_to(course.locate_release(NAME)).as_posix() for path in written}
    own = {"bigram.ipynb", "coursecheck.py", "corpus.txt", "lm.py", "report.md", "tools/words.py"}
    assert own == given
    assert ["probabilities.npy"] == [path.name for path in preparation.list_kept_back(course, NAME)]
    found = preparation.build_and_verify(course, NAME, quick=True).findings
    # The text in report.md is the question; the key contains no answer to it.
    assert {"report.said"} >= {one.place for one in found}


@pytest.mark.slow
def test_a_class_is_graded_from_its_files(course: Course) -> None:
    """Ten students: most as the key, some with a mistake, a missing file or an additional one."""
    preparation.release(course, NAME)
    key = {
        name: (course.sources / NAME / name).read_bytes()
        for name in ("lm.py", "report.md", "probabilities.npy")
    }
    key["report.md"] += b"Anything but pairs.\n"
    for number in range(10):
        folder = course.root / f"submitted/s{number}/{NAME}"
        folder.mkdir(parents=True)
        for name, data in key.items():
            if not (number == 3 and name == "probabilities.npy"):
                (folder / name).write_bytes(data)
        if number == 7:
            (folder / "lm.py").write_bytes(key["lm.py"].replace(b"text[1:]", b"text[2:]"))
    grade_class(course, NAME)
    outcomes = collect_standings(course, NAME, whole=True).roll.results
    assert 10 == len(outcomes)
    for number in range(10):
        points = {one.question: int(one.points) for one in outcomes[f"s{number}"].score.items}
        assert {
            "count": 2 * (number != 7),
            "probabilities": int(number != 3),
            "report": 0,
        } == points
        states = {one.path: one.state for one in outcomes[f"s{number}"].files}
        assert (states["probabilities.npy"] is FileState.MISSING) == (number == 3)
