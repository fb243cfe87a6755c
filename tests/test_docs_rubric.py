"""Every example in the rubric reference is valid, and every kind has one."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from autograder.authoring.schema import find_records
from autograder.core.errors import RubricError
from autograder.questions import list_registered, load_kinds, make_check
from autograder.questions.base.judging.manual import ManualItem
from autograder.questions.base.options import AnswerItem, ComparedOptions, Mistake
from autograder.questions.table.options import TableRow
from autograder.rubric import ConstructorArguments, Exam, Rubric, Task, VisibleCheck, parse_rubric, scales
from autograder.rubric.notebook_files import NotebookFile, ResultFile
from autograder.rubric.variants import options as variant_options

DOCS = Path(__file__).parents[1] / "docs"
COMMON = {
    name: (DOCS / name).read_text("utf-8")
    for name in ("rubric.md", "exams.md", "files.md", "variants.md", "oracles.md")
}
PAGES = {
    name: "".join(page.read_text("utf-8") for page in sorted(DOCS.glob(f"kinds/{name}*.md")))
    for name in list_registered()
}
COMMON["exams.md"] = COMMON["exams.md"].partition("## An exam: its tasks and its time")[2]
README = DOCS.with_name("README.md").read_text("utf-8")
EXAMPLES = re.findall(
    r"^```toml\n(.*?)^```", "\n".join((README, *COMMON.values(), *PAGES.values())), re.DOTALL | re.MULTILINE
)
RECORDS = (
    *(
        Exam,
        Task,
        NotebookFile,
        ResultFile,
        ConstructorArguments,
        VisibleCheck,
        Mistake,
        AnswerItem,
        ComparedOptions,
        ManualItem,
    ),
    *(scales.Grading, scales.Threshold, TableRow),
    *(
        variant_options.Integers,
        variant_options.Choices,
        variant_options.ComputedValue,
        variant_options.PlantedFaults,
    ),
)
"""Options that are common to several kinds."""
REFERENCE = Path(__file__).parent / "support" / "documented"
"""Contains the checks that examples name."""
HEAD = 'version = 1\n[assignment]\nname = "example"\npoints = {points}\n'


def rubric_of(example: str) -> Rubric:
    """Return the example as a complete rubric; fragments get a head with matching points."""
    if "[assignment]" in example:
        return parse_rubric(example.encode(), reference=REFERENCE)
    points = re.search(r"^points = ([0-9.]+)", example, re.MULTILINE)
    assert points is not None
    return parse_rubric((HEAD.format(points=points[1]) + example).encode(), reference=REFERENCE)


@pytest.mark.parametrize(
    "example", EXAMPLES, ids=[f"block {number}" for number in range(1, len(EXAMPLES) + 1)]
)
def test_every_example_is_accepted(example: str) -> None:
    """Each TOML block of the pages gives a check with at least one item."""
    rubric = rubric_of(example)
    for question in rubric.questions:
        assert question.kind == make_check(question, rubric).kind


def test_every_kind_has_an_example() -> None:
    """The pages show an example of every kind."""
    shown = {question.kind for example in EXAMPLES for question in rubric_of(example).questions}
    assert set(list_registered()) == shown


@pytest.mark.parametrize("kind", list_registered())
def test_every_option_of_a_kind_is_on_its_page(kind: str) -> None:
    """Every option is named on the kind's page or on a common page."""
    check = load_kinds()[kind].check
    beside = re.findall(r"\]\((\w+)\.md", PAGES[kind])
    page = "".join((PAGES[kind], *COMMON.values(), *(PAGES.get(name, "") for name in beside)))
    records = find_records(msgspec.inspect.multi_type_info([check.question_type, check.item_type]))
    names = {field.encode_name for record in records for field in msgspec.structs.fields(record)}
    assert [] == sorted(name for name in names if not named(name, page))


@pytest.mark.parametrize("record", RECORDS, ids=[record.__name__ for record in RECORDS])
def test_every_common_option_is_on_a_page(record: type[msgspec.Struct]) -> None:
    """Every option of several kinds is named on a page."""
    page = "".join((*COMMON.values(), *PAGES.values()))
    names = [field.encode_name for field in msgspec.structs.fields(record)]
    assert [] == [name for name in names if not named(name, page)]


def named(option: str, page: str) -> bool:
    """Return whether a page names an option in its text or in an example."""
    return bool(re.search(rf"`{option}`|\b{option} = |\[\[question\.([a-z]+\.)?{option}\]\]", page))


def test_a_misspelt_kind_gets_a_suggestion() -> None:
    """An unknown kind is refused with a suggestion of the nearest one."""
    rubric = rubric_of(
        next(one for one in EXAMPLES if 'kind = "written"' in one).replace('"written"', '"writen"')
    )
    with pytest.raises(RubricError, match="unknown kind 'writen'; did you mean 'written'"):
        make_check(rubric.questions[0], rubric)
