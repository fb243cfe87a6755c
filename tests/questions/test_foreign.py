"""Test that a kind of question registered by another package is found, judged, shown and documented."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = {
    "riddles/__init__.py": '''
"""The kind ``riddle``: one word, whatever its letters' case."""

from typing import Any, ClassVar

from msgspec import Struct

from autograder.questions.base.base import Evidence
from autograder.questions.base.itemwise import ItemwiseCheck
from autograder.questions.base.judging.results import Finding, make_failure, read_observed
from autograder.questions.base.kind import Kind
from autograder.core.records import Answer, Call
from autograder.rubric import Item


class RiddleQuestion(Struct, frozen=True):
    """Options of a ``riddle`` question: there are none of its own."""


class RiddleItem(Struct, frozen=True):
    """Options of an item of a ``riddle`` question."""

    word: str
    """The right word."""


class RiddleCheck(ItemwiseCheck[RiddleQuestion, RiddleItem]):
    """Reads a variable and compares a word."""

    kind: ClassVar[str] = "riddle"
    question_type = RiddleQuestion
    item_type = RiddleItem

    def list_calls(self, answer: Answer) -> tuple[Call, ...]:
        return (Call(self.question.answer, read=True),)

    def judge_item(self, item: Item, options: RiddleItem, evidence: Evidence) -> Finding | None:
        name = self.question.answer
        value, finding = read_observed(evidence.observed, 0, name)
        if finding is not None or str(value).casefold() == options.word.casefold():
            return finding
        return make_failure("riddle.wrong", word=str(value))


KIND = Kind(RiddleCheck, form="choice")
''',
    "riddles/sentences.py": 'SENTENCES = {"riddle.wrong": "It is not “{word}”."}',
    "riddles/template.md": """
```toml rubric
[[question]]
id = "riddle"
kind = "riddle"
points = 1
title = { en = "A riddle", de = "Ein Rätsel" }
answer = "word"

[[question.item]]
id = "word"
points = 1
text = { en = "The word", de = "Das Wort" }
word = "echo"
```

```markdown prompt
What answers without a mouth?
```

```python answer
### BEGIN SOLUTION
word = "echo"
### END SOLUTION
```
""",
    "riddles/reference.md": "# `riddle`: one word\n\n`word` is the right one.\n",
    "riddles-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: riddles\nVersion: 1.0\n",
    "riddles-1.0.dist-info/entry_points.txt": "[autograder.questions]\nriddle = riddles:KIND\n",
}
"""The files of an installed package."""

RUBRIC = """
version = 1
[assignment]
name = "test"
points = 1
languages = ["en", "de"]
title = { en = "Test", de = "Test" }
[[question]]
id = "q"
kind = "riddle"
points = 1
title = { en = "A riddle", de = "Ein Rätsel" }
answer = "word"
[[question.item]]
id = "word"
points = 1
text = { en = "The word", de = "Das Wort" }
word = "echo"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the installed package."""
    folder = tmp_path_factory.mktemp("site")
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.lstrip("\n"), "utf-8")
    return folder


def told(place: Path, code: str) -> object:
    """Return the JSON that a program prints if it can import the package."""
    lines = f"import json, sys\nsys.path.insert(0, {str(place)!r})\nRUBRIC = {RUBRIC!r}\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", lines], cwd=ROOT, capture_output=True, text=True, check=False, timeout=600
    )
    assert "" == done.stderr, done.stderr
    return json.loads(done.stdout)


def test_it_is_a_kind_like_ours(place: Path) -> None:
    """The kind is found, judges answers, has messages, and appears in the schema and the documentation."""
    found = told(
        place,
        f"DOCS = {str(ROOT / 'docs')!r}"
        """
from pathlib import Path

from autograder.authoring.doc_pages import render_pages
from autograder.authoring.schema import build_schema
from autograder.authoring.new_assignment import load_template
from autograder.core.errors import RubricError
from autograder.core.records import Answer, Observation
from autograder.messages import render_message
from autograder.questions import list_registered, make_check
from autograder.questions.base.base import Draw, Evidence
from autograder.rubric import parse_rubric

rubric = parse_rubric(RUBRIC.encode())
check = make_check(rubric.questions[0], rubric)
judged = []
for word, changed in (("Echo", True), ("wind", True), ("", False)):
    answer = Answer("q", "code", f"word = {word!r}", changed)
    seen = (Observation(ok=True, value=word),)
    (result,) = check.judge(Evidence(answer, seen, draw=Draw(b"a secret")))
    sentence = render_message(result.student, "de") if result.status.name == "FAILED" else ""
    judged.append([result.status.name, str(result.points), sentence])
wrong = parse_rubric(RUBRIC.replace("word = ", "wort = ").encode())
try:
    make_check(wrong.questions[0], wrong)
except RubricError as error:
    refused = str(error)
made = render_pages(Path(DOCS))
print(json.dumps({
    "names": [*list_registered()],
    "judged": judged,
    "refused": refused,
    "known": [
        "question-riddle" in build_schema()["$defs"],
        load_template("riddle", "module").kind,
        made["kinds/riddle.md"],
        "[`riddle`](kinds/riddle.md) | one word" in made["rubric.md"],
    ],
}))
""",
    )
    assert isinstance(found, dict)
    assert {"riddle", "formula", "choice", "table"} <= set(found["names"])
    assert found["judged"] == [
        ["PASSED", "1", ""],
        ["FAILED", "0", "It is not “wind”."],
        ["NO_ANSWER", "0", ""],
    ]
    assert "question 'q', item 'word': unknown key 'wort'; did you mean 'word'" in found["refused"]
    assert found["known"] == [True, "riddle", FILES["riddles/reference.md"], True]


def test_results_depend_on_the_version_of_its_distribution(place: Path, tmp_path: Path) -> None:
    """Results depend on the version of the distribution if the rubric uses the kind, not on its code."""
    code = """
from autograder.grading.version import list_versions
print(json.dumps([list_versions((), ("riddle", "count")), list_versions((), ("count",))]))
"""
    site = shutil.copytree(place, tmp_path / "site")
    module, metadata = site / "riddles" / "__init__.py", site / "riddles-1.0.dist-info" / "METADATA"
    first = told(site, code)
    module.write_text(module.read_text("utf-8") + "# another word\n", "utf-8")
    assert first == told(site, code)
    metadata.write_text(metadata.read_text("utf-8").replace("Version: 1.0", "Version: 1.1"), "utf-8")
    second = told(site, code)
    assert isinstance(first, list)
    assert isinstance(second, list)
    assert "kind riddle riddles 1.0" in first[0]
    assert "kind riddle riddles 1.1" in second[0]
    assert first[1] == second[1]


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_student_is_graded_with_it(place: Path, tmp_path: Path) -> None:
    """An assignment with this kind can be created, generated, verified and graded."""
    done = told(
        place,
        f"""
import pathlib
from autograder.grading import assignment, release_generation
from autograder.authoring import start_assignment
from autograder.course import Course
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.messages import render_message
from autograder.sandbox.pool import Pool
from autograder.grading.verify import verify

folder = pathlib.Path({str(tmp_path)!r})
start_assignment(folder, "one", ["riddle"])
course = Course.from_folder(folder)
release_generation.generate_release(course, "one")
loaded = assignment.load_assignment(course, "one")
release = json.loads(loaded.release_bytes["one"])

def sit(word):
    for cell in release["cells"]:
        if cell["metadata"].get("nbgrader", {{}}).get("solution"):
            cell["source"] = f"word = {{word!r}}"
    results = grader.grade(SubmittedFiles("ada", {{"one": json.dumps(release).encode()}})).score.items
    return [[one.status.name, str(one.points), render_message(one.student, "de")] for one in results]

with Pool() as pool:
    verified = verify(loaded, pool)
    grader = Grader(loaded, pool)
    print(json.dumps([[one.got for one in verified.findings], sit("Echo"), sit("wind")]))
""",
    )
    right, wrong = [["PASSED", "1", "Richtig."]], [["FAILED", "0", "It is not “wind”."]]
    assert [["no trial at all"], right, wrong] == done
