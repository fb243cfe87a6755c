"""A release contains no part of a solution in any place; trivial solutions do not block a release."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from autograder.core.errors import CourseError, NotebookError
from autograder.grading import release_generation
from autograder.notebook.equal_formulas import read_vocabularies
from autograder.notebook.leaks import check_leaks, list_given_texts, list_withheld_answers
from autograder.notebook.release_builder import build_release
from autograder.rubric import Rubric
from tests.support import files_course

NAME = "small-exam"
SOFTMAX = '''def double(x):
    """Return twice the argument."""
    # a remark
    shifted = x - x.max(axis=-1, keepdims=True)
    weights = numpy.exp(shifted)
    return weights / weights.sum(axis=-1, keepdims=True)
'''
KEY = f"import numpy\n### BEGIN SOLUTION\n{SOFTMAX}### END SOLUTION"
"""A solution that is long enough to be searched for in given code."""
QUESTION = "Why does it matter that the variance of scores grows?"
ESSAY = (
    "The scores are sums of d_head products, so their variance grows with the width of a head, and softmax "
    "of large scores has almost no gradient.\n\nDividing by the root keeps the variance at one."
)


def cell_of(tree: dict[str, Any], grade_id: str) -> dict[str, Any]:
    """Return the cell with this grade_id."""
    return next(
        cell for cell in tree["cells"] if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id
    )


def with_sources(source_bytes: bytes, **sources: str) -> dict[str, Any]:
    """Return the small exam with other sources in some cells; hyphens of ids are written as underscores."""
    tree: dict[str, Any] = json.loads(source_bytes)
    for grade_id, source in sources.items():
        cell_of(tree, grade_id.replace("_", "-"))["source"] = source
    return tree


def with_cell(tree: dict[str, Any], cell_type: str, source: str, **fields: Any) -> dict[str, Any]:
    """Return the notebook with a further cell at its end, without nbgrader metadata."""
    cell = {"cell_type": cell_type, "metadata": {}, "source": source, "id": "scratch", **fields}
    if cell_type == "code":
        cell = {"outputs": [], "execution_count": None, **cell}
    tree["cells"].append(cell)
    return tree


def contents(folder: Path) -> dict[Path, bytes]:
    """Return the contents of all files below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refuse(tree: dict[str, Any], rubric: Rubric) -> str:
    """Return the error message for the author of a notebook, or an empty string if it is released."""
    source = json.dumps(tree).encode()
    try:
        released = build_release(source, rubric, NAME)
        withheld = list(list_withheld_answers(source, NAME, read_vocabularies(rubric)))
        check_leaks(withheld, list(list_given_texts(released, NAME)))
    except NotebookError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("cell_type", "source"),
    [
        pytest.param("code", SOFTMAX, id="in a cell to play in"),
        pytest.param("code", SOFTMAX.replace("double", "mine"), id="under another name"),
        pytest.param("code", SOFTMAX.replace("axis=-1", "axis = -1"), id="laid out differently"),
        pytest.param(
            "code", "\n".join(f"# {line}" for line in SOFTMAX.split("\n")), id="commented out line by line"
        ),
        pytest.param(
            "code", "class Tried:\n" + "\n".join(f"  {x}" for x in SOFTMAX.split("\n")), id="as a method"
        ),
        pytest.param("code", f"%matplotlib inline\n{SOFTMAX}", id="beside a line for IPython"),
        pytest.param(
            "code",
            "shifted = x - x.max(axis=-1, keepdims=True)\nweights = numpy.exp(shifted)",
            id="more than half of it",
        ),
        pytest.param("markdown", f"An idea:\n\n```python\n{SOFTMAX}```", id="in a text, fenced"),
        pytest.param("raw", SOFTMAX, id="in a raw cell"),
    ],
)
def test_leaks_refuse_code_of_the_key(
    source_bytes: bytes, rubric: Rubric, cell_type: str, source: str
) -> None:
    """The error names the cell that reveals the solution, and the cell of the solution."""
    tree = with_cell(with_sources(source_bytes, double_answer=KEY), cell_type, source)
    said = refuse(tree, rubric)
    assert f"notebook '{NAME}', cell 16: gives away the solution of" in said
    assert f"notebook '{NAME}', cell 9 (double-answer): '" in said


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line,
        lambda line: "\n".join(f"          {part.strip()}" for part in line.split("\n")),
        lambda line: line.replace(" = ", "=").replace(" / ", "/").replace(" + ", "  +  "),
        lambda line: line.replace(" / ", " \\\n      / ").replace("(x - ", "(\n      x - "),
        lambda line: line.replace("    ", "&nbsp; ").replace(" = ", "&nbsp;= "),
        lambda line: line.replace("1e-5", "1.0E-05").replace(" .5", " 0.50"),
    ],
    ids=["as it is", "indented", "spaced", "broken lines", "spaces of HTML", "numbers"],
)
@pytest.mark.parametrize(
    "line",
    [
        "scaled = (x - x.mean(-1)) / (x.std(-1) + 1e-5) * .5",
        "prompt = '''Translate the next line\n    into German.'''",
        r"pattern = re.compile(r'\s+(\d+)\n', re.M)",
    ],
    ids=["numbers", "text", "escapes"],
)
def test_leaks_refuse_code_in_a_text_however_it_is_laid_out(
    source_bytes: bytes, rubric: Rubric, line: str, change: Callable[[str], str]
) -> None:
    """Code in a text is found in any layout, because it is not parsed."""
    key = f"### BEGIN SOLUTION\ndef double(x):\n    {line}\n    return 1\n### END SOLUTION"
    tree = with_sources(source_bytes, double_answer=key)
    assert "gives away the solution of" in refuse(
        with_cell(tree, "markdown", f"Idea: {change(line)}"), rubric
    )


@pytest.mark.parametrize(
    "passage",
    ["Use `x / x.sum(axis=-1)`.", "# y = x / x.sum(axis=-1)", "return x / x.sum(axis=-1)"],
    ids=["alone", "assigned", "returned"],
)
def test_leaks_refuse_what_the_key_returns(source_bytes: bytes, rubric: Rubric, passage: str) -> None:
    """An expression that the solution returns is found, while the word return alone reveals nothing."""
    key = "### BEGIN SOLUTION\ndef double(x):\n    return x / x.sum(axis=-1)\n### END SOLUTION"
    said = refuse(with_sources(source_bytes, double_answer=key, double_prompt=passage), rubric)
    assert "gives away the solution of notebook 'small-exam', cell 9 (double-answer)" in said


@pytest.mark.parametrize("cell", ["given", "setup", "shape-answer"])
def test_leaks_refuse_a_whole_solution_in_given_code(source_bytes: bytes, rubric: Rubric, cell: str) -> None:
    """A locked cell and the stub of another question may hold parts of a solution, but not all of it."""
    tree = with_sources(source_bytes, double_answer=KEY)
    own = cell_of(tree, cell)["source"]
    cell_of(tree, cell)["source"] = f"{SOFTMAX}\n{own}"
    assert "gives away the solution of notebook 'small-exam', cell 9 (double-answer)" in refuse(tree, rubric)
    partly = SOFTMAX.replace("return weights / weights.sum", "return weights / weights.max")
    cell_of(tree, cell)["source"] = f"{partly}\n{own}"
    assert "" == refuse(tree, rubric)


@pytest.mark.parametrize(
    "passage",
    [
        pytest.param("It is d_model^2, isn't it?", id="as it is"),
        pytest.param("It is `d_model ** 2`.", id="as Python writes it"),
        pytest.param(r"It is $d_{\text{model}}^{2}$.", id="as LaTeX writes it"),
        pytest.param("It is d_model².", id="with a raised digit"),
    ],
)
def test_leaks_refuse_the_formula_of_the_key_in_its_prompt(
    source_bytes: bytes, rubric: Rubric, passage: str
) -> None:
    """A short formula is searched for in its own question only; a part of a longer formula does not match."""
    said = refuse(with_sources(source_bytes, formula_prompt=passage), rubric)
    assert "cell 3 (formula-prompt): gives away" in said
    assert "cell 4 (formula-answer): 'd_model^2'" in said
    assert "" == refuse(with_sources(source_bytes, formula_prompt="Not d_model^2 + 5*d_model."), rubric)
    assert "" == refuse(with_sources(source_bytes, essay_prompt="Write formulas as in d_model^2."), rubric)


EQUAL_FORMULAS = {
    "abbreviated": "It is 8 d**2 + 5 d.",
    "rearranged": "Hint: `5*d_model + 8*d_model*d_model`",
    "factored": "- d (8 d + 5)",
    "LaTeX": r"It is $d_{\text{model}} \cdot (5 + 8 d_{\text{model}})$.",
    "an assignment": "# projection_size = '2*(4*d^2) + 5d'",
}


@pytest.mark.parametrize("passage", EQUAL_FORMULAS.values(), ids=EQUAL_FORMULAS)
@pytest.mark.parametrize("cell", ["formula-prompt", "formula-answer"])
def test_leaks_refuse_an_equal_formula_in_its_own_question(
    source_bytes: bytes, rubric: Rubric, passage: str, cell: str
) -> None:
    """An equal formula reveals the solution in its own question; in another question it may be an example."""
    rubric = replace(
        rubric,
        assignment=replace(
            rubric.assignment,
            symbols={"d_model": replace(rubric.assignment.symbols["d_model"], aliases=("d",))},
        ),
    )
    key = '### BEGIN SOLUTION\nprojection_size = "8*d_model^2 + 5*d_model"\n### END SOLUTION'
    tree = with_sources(source_bytes, formula_answer=key)
    stub = "# " if cell == "formula-answer" else ""
    behind = f"\n{key}" if stub else ""
    cell_of(tree, cell)["source"] = f"{stub}{passage}{behind}"
    said = refuse(tree, rubric)
    assert f"({cell}): gives away the solution of notebook 'small-exam', cell 4 (formula-answer)" in said
    tree = with_sources(source_bytes, formula_answer=key, essay_prompt=passage)
    assert "" == refuse(tree, rubric)


@pytest.mark.parametrize(
    "passage",
    [
        "8 d_model^2 + 5 d_model + 1",
        "8 d_model^2",
        "d_model",
        "There are 8 of them, and 5.",
        "8 d_model^3 + 5 (",
        "",
    ],
)
def test_leaks_pass_other_formulas_in_a_prompt(source_bytes: bytes, rubric: Rubric, passage: str) -> None:
    """Longer, shorter and unreadable formulas reveal nothing."""
    key = '### BEGIN SOLUTION\nprojection_size = "8*d_model^2 + 5*d_model"\n### END SOLUTION'
    assert "" == refuse(with_sources(source_bytes, formula_answer=key, formula_prompt=passage), rubric)


@pytest.mark.parametrize(
    "options", [{"must": ("sum",)}, {"without": ("sqrt",)}, {}], ids=["must", "without", "none"]
)
def test_leaks_pass_the_formula_that_a_prompt_asks_to_rewrite(
    source_bytes: bytes, rubric: Rubric, options: dict[str, Any]
) -> None:
    """If a particular form is required, copying an equal formula does not earn the points."""
    question = rubric.get_question("formula")
    item = replace(question.items[0], options={**question.items[0].options, **options})
    changed = replace(question, items=(item, *question.items[1:]))
    rubric = replace(rubric, questions=tuple(changed if one is question else one for one in rubric.questions))
    key = '### BEGIN SOLUTION\nprojection_size = "d_model^2 + 2*d_model + 1"\n### END SOLUTION'
    said = refuse(
        with_sources(source_bytes, formula_answer=key, formula_prompt="Expand $(d_model + 1)^2$."), rubric
    )
    assert bool(said) == (not options)


def test_leaks_refuse_a_long_formula_anywhere(source_bytes: bytes, rubric: Rubric) -> None:
    """A formula with many operators is not an example of notation, so it is refused in any cell."""
    key = '### BEGIN SOLUTION\nprojection_size = "8*d_model^2 + 5*d_model"\n### END SOLUTION'
    tree = with_sources(
        source_bytes, formula_answer=key, essay_prompt="The MLP has $8 d_model^2 + 5 d_model$."
    )
    assert "cell 14 (essay-prompt): gives away" in refuse(tree, rubric)


@pytest.mark.parametrize(
    ("cell", "source", "key"),
    [
        pytest.param("formula-answer", '# size = "d_model^2"', 'size = "d_model^2"', id="formula"),
        pytest.param("formula-answer", "# cause = 'typical'", 'cause = "typical"', id="choice"),
        pytest.param("shape-answer", "size = (2, 8, 128, 128)", "size = (2, 8, 128, 128)", id="shape"),
        pytest.param("shape-answer", "# 124_441_344", 'size = {"tied": 124441344}', id="large number"),
    ],
)
def test_leaks_refuse_the_value_of_the_key_in_its_stub(
    source_bytes: bytes, rubric: Rubric, cell: str, source: str, key: str
) -> None:
    """A solution left as a commented-out assignment in its cell is found."""
    tree = with_sources(source_bytes)
    cell_of(tree, cell)["source"] = f"{source}\n### BEGIN SOLUTION\n{key}\n### END SOLUTION"
    said = refuse(tree, rubric)
    assert 2 == said.count(f"({cell})")


@pytest.mark.parametrize("key", ["size = 1024 * 768", "size = 786432", "size = 2**18 * 3"])
@pytest.mark.parametrize(
    ("cell", "source"),
    [
        pytest.param("shape-prompt", "You should get 786432.", id="its prompt"),
        pytest.param("shape-answer", "# for the teacher: 786_432", id="its stub"),
        pytest.param("essay-prompt", "The table holds 786432 numbers.", id="another prompt"),
        pytest.param("given", "print(1024 * 768)", id="given code that computes it"),
    ],
)
def test_leaks_refuse_the_number_of_the_key(
    source_bytes: bytes, rubric: Rubric, cell: str, source: str, key: str
) -> None:
    """Numbers are compared by value, whether the key or the text computes them."""
    tree = with_sources(source_bytes, shape_answer=f"### BEGIN SOLUTION\n{key}\n### END SOLUTION")
    cell_of(tree, cell)["source"] = source + f"\n{cell_of(tree, cell)['source']}"
    said = refuse(tree, rubric)
    assert f"({cell}): gives away the solution of" in said
    assert "(shape-answer): '786432'" in said


@pytest.mark.parametrize("cell_type", ["code", "markdown"])
def test_leaks_refuse_the_whole_line_of_the_key_anywhere(
    source_bytes: bytes, rubric: Rubric, cell_type: str
) -> None:
    """A complete short line is refused because it earns the points; the value alone may be an example."""
    key = "### BEGIN SOLUTION\nsize = 64 * 32\n### END SOLUTION"
    tree = with_sources(source_bytes, shape_answer=key)
    assert "'size = 64 * 32'" in refuse(with_cell(tree, cell_type, "size = 64*32"), rubric)
    tree = with_sources(source_bytes, shape_answer=key)
    assert "" == refuse(with_cell(tree, cell_type, "width = 64*32"), rubric)


@pytest.mark.parametrize(
    ("key", "passage"),
    [
        pytest.param("size = 3 * 4", "There are 12 of them.", id="few digits"),
        pytest.param("size = 10 * 100_000", "Corpora have 1000000 words.", id="round, in another question"),
        pytest.param("size = 50_257", "GPT-2 has 50257 tokens.", id="short, in another question"),
        pytest.param("size = 1024 * 768", "It has 7864320 numbers.", id="another number"),
        pytest.param("seed = 786432\nprint(seed)", "Take the seed 786432.", id="not all of the answer"),
    ],
)
def test_leaks_pass_numbers_that_prove_nothing(
    source_bytes: bytes, rubric: Rubric, key: str, passage: str
) -> None:
    """A number that is common in notebooks does not block a release."""
    key = f"### BEGIN SOLUTION\n{key}\n### END SOLUTION"
    assert "" == refuse(with_sources(source_bytes, shape_answer=key, essay_prompt=passage), rubric)


def test_leaks_pass_the_factors_of_a_number_in_its_prompt(source_bytes: bytes, rubric: Rubric) -> None:
    """The shape of a matrix in the prompt does not reveal the number of its entries."""
    key = "### BEGIN SOLUTION\nsize = 1024 * 768\n### END SOLUTION"
    prompt = r"How many entries has a matrix of $1024 \times 768$?"
    assert "" == refuse(with_sources(source_bytes, shape_answer=key, shape_prompt=prompt), rubric)


@pytest.mark.parametrize("text", ["</w>", "/tmp", "<br/>"])
def test_leaks_pass_strings_that_apply_no_operator(source_bytes: bytes, rubric: Rubric, text: str) -> None:
    """Tags and paths contain operator signs but are not formulas."""
    key = f"### BEGIN SOLUTION\nmarks = {text!r}\nsize = 3\n### END SOLUTION"
    tree = with_sources(source_bytes, formula_answer=key, formula_prompt=f"A word ends in `{text}`.")
    assert "" == refuse(tree, rubric)


@pytest.mark.parametrize(
    ("cell_type", "source"),
    [
        pytest.param("markdown", ESSAY, id="whole"),
        pytest.param(
            "markdown", ESSAY.replace("\n\n", " ").replace(" of ", "\nof "), id="wrapped differently"
        ),
        pytest.param("markdown", "> " + ESSAY.rsplit("\n", maxsplit=1)[-1].upper(), id="one paragraph"),
        pytest.param("code", f'hint = """{ESSAY}"""', id="in a string"),
        pytest.param("markdown", ESSAY.replace("scores has", "*scores* has"), id="with emphasis"),
    ],
)
def test_leaks_refuse_a_model_answer(
    source_bytes: bytes, rubric: Rubric, cell_type: str, source: str
) -> None:
    """A paragraph of a model answer is found despite changes of case, line breaks and emphasis."""
    tree = with_cell(with_sources(source_bytes, essay=ESSAY), cell_type, source)
    said = refuse(tree, rubric)
    assert "cell 16: gives away the solution of notebook 'small-exam', cell 15 (essay)" in said


@pytest.mark.parametrize(
    ("cell", "key", "cell_type", "source"),
    [
        pytest.param(
            "double-answer", "import numpy\n\nf = abs", "code", "import numpy\n\nx = 1", id="imports"
        ),
        pytest.param("double-answer", "double = abs", "code", "double = abs", id="trivial code"),
        pytest.param("double-answer", SOFTMAX, "markdown", "Write `def double(x)`.", id="a signature"),
        pytest.param("double-answer", SOFTMAX, "markdown", "Use `keepdims=True`.", id="a hint"),
        pytest.param("shape-answer", "size = (1, 2)", "markdown", "It is (1, 2).", id="few digits"),
        pytest.param("shape-answer", 'size = "pre-trained"', "markdown", "A pre-trained one.", id="a hyphen"),
        pytest.param("essay", "Yes.", "markdown", "Yes.", id="one word"),
        pytest.param(
            "essay", f"{QUESTION} Because.\n\n{QUESTION}", "markdown", QUESTION, id="the question repeated"
        ),
        pytest.param(
            "essay", ESSAY, "markdown", "It grows with the width of a head, so think.", id="a phrase"
        ),
    ],
)
def test_leaks_pass_what_proves_nothing(  # noqa: PLR0917
    source_bytes: bytes, rubric: Rubric, cell: str, key: str, cell_type: str, source: str
) -> None:
    """Short solutions, names and phrases occur in many notebooks and reveal nothing."""
    tree = with_sources(source_bytes)
    if cell != "essay":
        key = f"### BEGIN SOLUTION\n{key}\n### END SOLUTION"
    cell_of(tree, cell)["source"] = key
    assert "" == refuse(with_cell(tree, cell_type, source), rubric)


@pytest.mark.parametrize(
    ("cell_type", "source", "marker"),
    [
        ("code", "x = 1  # SOLUTION", "# SOLUTION"),
        ("code", "# BEGIN SOLUTION NO PROMPT\nx = 1\n# END SOLUTION", "BEGIN SOLUTION"),
        ("code", "# SOLUTION: see below", "# SOLUTION: see below"),
        ("markdown", "<!-- SOLUTION -->\nBecause.", "<!-- SOLUTION -->"),
        ("markdown", "## SOLUTION\nBecause.", "## SOLUTION"),
        ("raw", "# BEGIN SOLUTION", "BEGIN SOLUTION"),
        ("code", "# begin solution\nx = 1\n# end solution", "begin solution"),
        ("code", "x = 1\n### End Solution ###", "End Solution"),
        ("markdown", "<!-- begin mark scheme -->\nBecause.", "begin mark scheme"),
    ],
)
def test_leaks_refuse_markers_of_solutions_in_plain_cells(
    source_bytes: bytes, rubric: Rubric, cell_type: str, source: str, marker: str
) -> None:
    """nbgrader would release such a cell with marker and solution."""
    said = refuse(with_cell(with_sources(source_bytes), cell_type, source), rubric)
    assert "cell 16" in said
    assert marker in said


def test_leaks_pass_words_that_mark_nothing(source_bytes: bytes, rubric: Rubric) -> None:
    """A heading about solutions, and a name in capitals, are not markers."""
    text = "## Solutions of linear systems\n\nThe constant `SOLUTION` is yours. # Solution"
    text += "\n# begin solution here"
    assert "" == refuse(with_cell(with_sources(source_bytes), "markdown", text), rubric)


def test_leaks_refuse_a_solution_in_a_picture_of_text(source_bytes: bytes, rubric: Rubric) -> None:
    """The text of an SVG picture is searched, whether encoded in base64 or not."""
    drawn = f"<svg><text>{ESSAY}</text></svg>"
    for content in (drawn, base64.b64encode(drawn.encode()).decode()):
        picture = {"a.svg": {"image/svg+xml": content}}
        tree = with_cell(
            with_sources(source_bytes, essay=ESSAY), "markdown", "![](attachment:a.svg)", attachments=picture
        )
        assert "cell 16, an attachment: gives away" in refuse(tree, rubric)


def test_leaks_refuse_solutions_in_outputs_and_metadata(source_bytes: bytes, rubric: Rubric) -> None:
    """Releases of other programs may contain outputs and metadata; ours contains neither."""
    source = json.dumps(with_sources(source_bytes, double_answer=KEY, essay=ESSAY)).encode()
    output = {"output_type": "stream", "name": "stdout", "text": SOFTMAX.splitlines(keepends=True)}
    for fields, place in (
        ({"outputs": [output]}, "cell 2 (setup), outputs"),
        ({"metadata": {"notes": [ESSAY]}}, "cell 2 (setup), metadata"),
    ):
        released = json.loads(build_release(source, rubric, NAME))
        cell = cell_of(released, "setup")
        cell["metadata"] |= fields.pop("metadata", {})
        cell |= fields
        given = list(list_given_texts(json.dumps(released).encode(), NAME))
        with pytest.raises(NotebookError) as caught:
            check_leaks(list(list_withheld_answers(source, NAME)), given)
        assert place in str(caught.value)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("model/report.md", "What did you see?\n### BEGIN SOLUTION\nTwo.\n### END SOLUTION\n" + ESSAY),
        ("model/corpus.txt", ESSAY),
        ("model/lm.py", f'{files_course.LM}\n"""\n{ESSAY}\n"""\n'),
    ],
)
def test_generate_refuses_solutions_in_files(tmp_path: Path, path: str, text: str) -> None:
    """Starter files and data files are searched too, and the previous release remains unchanged."""
    course = files_course.written(tmp_path)
    release_generation.generate_release(course, "model")
    before = contents(course.locate_release("model"))
    folder = tmp_path / "assignments"
    key = "def count(word):\n    ### BEGIN SOLUTION\n    # the key\n    return 1\n    ### END SOLUTION\n"
    (folder / "model/lm.py").write_text(key, encoding="utf-8")
    report = f"What did you see?\n### BEGIN SOLUTION\n{ESSAY}\n### END SOLUTION\n"
    (folder / "model/report.md").write_text(report, encoding="utf-8")
    if path.endswith("report.md"):
        text = f"{report}{ESSAY}\n"
    (folder / path).write_text(text, encoding="utf-8")
    with pytest.raises(NotebookError) as caught:
        release_generation.generate_release(course, "model")
    assert str(caught.value).startswith(f"{Path(path).name}: gives away the solution of report.md: '")
    assert before == {
        file: file.read_bytes() for file in course.locate_release("model").rglob("*") if file.is_file()
    }


def test_build_drops_pictures_of_withheld_parts(source_bytes: bytes, rubric: Rubric) -> None:
    """A task keeps the pictures of its prompt, and loses those of its mark scheme."""
    tree = with_sources(source_bytes)
    scheme = "### BEGIN MARK SCHEME\n![](attachment:b.png)\n### END MARK SCHEME"
    task = {"schema_version": 3, "grade_id": "drawing", "task": True, "points": 0, "grade": False}
    flags = {**task, "solution": False, "locked": True}
    with_cell(
        tree,
        "markdown",
        f"Draw ![](attachment:a.png).\n{scheme}",
        attachments={name: {"image/png": "AAAA"} for name in ("a.png", "b.png")},
        metadata={"nbgrader": flags},
    )
    text = rubric.get_question("essay")
    item = replace(text.items[0], id="drawing", points=Decimal(0), manual=True, cell="drawing")
    question = replace(text, items=(*text.items, item))
    rubric = replace(rubric, questions=(*rubric.questions[:-1], question))
    released = build_release(json.dumps(tree).encode(), rubric, NAME)
    assert {"a.png"} == cell_of(json.loads(released), "drawing")["attachments"].keys()
    assert b"b.png" not in released


@pytest.mark.parametrize("copies", [1, 2])
def test_build_names_every_cell_with_the_same_grade_id(
    source_bytes: bytes, rubric: Rubric, copies: int
) -> None:
    """The error names the source notebook and all positions of the repeated grade_id."""
    tree = with_sources(source_bytes)
    tree["cells"] += [dict(cell_of(tree, "given"), id=f"copy{number}") for number in range(copies)]
    numbers = "16" if copies == 1 else "16, 17"
    with pytest.raises(CourseError) as caught:
        build_release(json.dumps(tree).encode(), rubric, NAME)
    assert str(caught.value).startswith(
        f"source '{NAME}': grade_id 'given' stands in cells 7 and {numbers}; each may stand once. Splitting"
    )
