"""Test errors in rubrics: messages state the file, the line and the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.authoring import start_assignment
from autograder.core.errors import AutograderError, RubricError
from autograder.course import Course
from autograder.grading import release_generation
from autograder.rubric.error_lines import find_line

NAME = "sheet"

ERRORS = (
    ('kind = "formula"', 'kind = "formular"', "unknown kind 'formular'; did you mean 'formula'?"),
    ('answer = "mlp_', 'anwser = "mlp_', "unknown key 'anwser'; did you mean 'answer'?"),
    ("accept = [", "acept = [", "item 'formula': unknown key 'acept'; did you mean 'accept'?"),
    ("points = 3\n", "points = 4\n", "points: 4 are stated, but the parts add up to 3"),
    ("points = 10 ", "points = 8 ", "[assignment]: points: 8 are stated, but the parts add up to 10"),
    (
        'text = { en = "Parameters of the two matrices" }',
        'text = "Parameters"',
        "item 1 (formula): text: expected a text for each language, text = { en = \"…\" }, got 'Parameters'",
    ),
    ('accept = ["8*d_model^2"]', 'accept = "8*d"', "accept: expected a list in [ ], got '8*d'"),
    (
        'accept = ["8*d_model^2"]',
        'accept = ["8*d_modell"]',
        "'8*d_modell' is not readable at character 3: the name “d_modell” is not known. Did you",
    ),
    ('when = "4*d_model^2"', 'when = "4*(d"', "'4*(d' is not readable at character 3: this bracket is never"),
    ("manual = true ", 'manual = "yes" ', "item 2 (why): manual: expected true or false, got 'yes'"),
    (
        'value = ["batch", "n_heads", "length", "length"]',
        'value = ["batch", "n_heads", "length", "lenght"]',
        "value: ('batch', 'n_heads', 'length', 'lenght') is no answer of kind shape: Your formula "
        "could not be read at ▸ in “▸lenght”: the name “lenght” is not known. Did you mean “length”?",
    ),
    ('languages = ["en"]', 'languages = ["english"]', "languages: expected some of en, de, got english"),
    (
        'id = "why"',
        'id = "the reason"',
        "item 2 (the reason): id: expected letters, digits, '-', '_' or '.', got",
    ),
    ('id = "why"', 'id = "formula"', "question 1 (formula), item 2: id: 'formula' stands twice"),
    ('id = "shape"', 'id = "formula"', "question 2: id: 'formula' stands twice; each may stand once"),
    ('languages = ["en"]', "languages = []", "languages: expected some of en, de, got none"),
)
"""Original text, replacement and expected message."""


@pytest.fixture
def rubric(tmp_path: Path) -> Path:
    """Return the rubric of a new assignment."""
    start_assignment(tmp_path, NAME, ["formula", "shape", "code", "written"])
    return tmp_path / "rubrics" / f"{NAME}.toml"


def refused(rubric: Path, old: str, new: str) -> tuple[str, int]:
    """Return the error message and the line of the error."""
    text = rubric.read_text()
    assert old in text
    rubric.write_text(text.replace(old, new, 1))
    with pytest.raises(RubricError) as caught:
        release_generation.generate_release(Course.from_folder(rubric.parents[1]), NAME)
    return str(caught.value), text[: text.index(old)].count("\n") + 1


@pytest.mark.parametrize(("old", "new", "said"), ERRORS)
def test_an_error_is_told_with_file_line_and_remedy(rubric: Path, old: str, new: str, said: str) -> None:
    """The message begins with file and line, which is the one of the error or of its item."""
    message, line = refused(rubric, old, new)
    place, _, rest = message.partition(": ")
    assert said in rest
    assert place.startswith(f"{rubric}, line ")
    assert -6 <= int(place.rpartition(" ")[2]) - line <= 0
    if f"{old.partition(' =')[0]}:" in rest or "unknown key" in rest:
        assert f"{rubric}, line {line}" == place


def test_a_missing_key_is_told_with_the_line_of_its_item(rubric: Path) -> None:
    """A missing key is reported at the line of its item."""
    message, line = refused(rubric, 'text = { en = "Parameters of the two matrices" }\n', "")
    assert (
        f"{rubric}, line {line - 3}: question 1 (formula), item 1 (formula): text: this key is missing"
        == message
    )


def test_a_second_language_is_needed_everywhere(rubric: Path) -> None:
    """If a language is added, all texts without it are reported, including mistakes and the title."""
    message, _ = refused(rubric, 'languages = ["en"]', 'languages = ["en", "de"]')
    assert "[assignment]: title: 'de' is missing, one of the assignment's languages; add it (and " in message
    assert "question 'formula', item 'formula', 'one-matrix': text: 'de' is missing" in message


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("guide = { en", "guide = { de", 0, "question 'written', item 'set': guide: 'en'"),
        (
            'manual = true\ntext = { en = "So',
            'manual = true\nexamples.full = { en = "a" }\nexamples.none = { de = "b" }\ntext = { en = "So',
            2,
            "question 'written', item 'order', examples: none: 'en'",
        ),
        (
            'text = { en = "So the order of the words would be lost" }',
            'text = { en = "So" }\n[question.item.examples]\nfull = "a"\nnone = { de = "b" }',
            3,
            "question 'written', item 'order', examples: none: 'en'",
        ),
    ],
)
def test_names_and_texts_for_graders_are_told_with_their_line(
    rubric: Path, old: str, new: str, line: int, said: str
) -> None:
    """Names of cases, guides and examples without a language are reported with their line."""
    message, first = refused(rubric, old, new)
    assert f"{rubric}, line {first + line}: {said} is missing, one of the assignment's languages" in message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "[[question]]                                 # a shape",
            "[question]  # a shape",
            "take two brackets",
        ),
        ('id = "why"', "id = „why“", "texts stand in straight quotes"),
    ],
)
def test_errors_of_toml_are_told_with_advice(rubric: Path, old: str, new: str, said: str) -> None:
    """Errors of the TOML parser are reported with additional advice."""
    message, line = refused(rubric, old, new)
    assert f"(at line {line}, column" in message
    assert said in message


@pytest.mark.parametrize(
    ("stated", "advice"),
    [("writen", "did you mean 'written'?"), ("xyz", "known are: formula-answer, formula-")],
)
def test_an_answer_cell_that_is_stated_must_be_there(rubric: Path, stated: str, advice: str) -> None:
    """A stated answer cell must exist; the cell with the question's name is used only by default."""
    message, _ = refused(rubric, 'answer_cell = "written"', f'answer_cell = "{stated}"')
    assert f"question 'written' has no answer cell; expected a solution cell '{stated}'; {advice}" in message


def test_the_cell_of_an_item_must_be_there(rubric: Path) -> None:
    """A misspelt cell of an item is rejected instead of grading the question's cell."""
    message, _ = refused(rubric, 'cell = "formula-why"', 'cell = "formula-wy"')
    assert "no cell is graded under that name; did you mean 'formula-why'?" in message


def test_a_name_that_differs_from_the_file_is_refused(rubric: Path) -> None:
    """A name that differs from the file's would select the notebooks of another assignment."""
    text = rubric.read_text()
    rubric.write_text(text.replace('name = "sheet"', 'name = "sheets"'))
    with pytest.raises(AutograderError, match=r"name: expected 'sheet', as the file is called, got 'sheets'"):
        release_generation.generate_release(Course.from_folder(rubric.parents[1]), NAME)


def test_a_byte_order_mark_is_no_fault(rubric: Path) -> None:
    """Editors on Windows write a byte order mark."""
    rubric.write_bytes(b"\xef\xbb\xbf" + rubric.read_bytes())
    assert release_generation.generate_release(Course.from_folder(rubric.parents[1]), NAME)


def test_no_line_is_better_than_a_wrong_one() -> None:
    """An error without a place in the file, or about a missing entry, has no line."""
    text = 'version = 1\n[assignment]\nname = "x"\n[[question]]\nid = "a"\n'
    assert find_line(text, ()) is None
    assert find_line(text, ("question", "b", "kind")) is None
    assert find_line(text, ("variant", "draw")) is None
    assert find_line("a = ", ("a",)) is None
    assert 4 == find_line(text, ("question", "a", "kind"))
    assert 5 == find_line(text, ("question", 0, "id"))
    assert 3 == find_line(text, ("assignment", "name"))
