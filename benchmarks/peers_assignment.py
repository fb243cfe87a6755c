"""One assignment in three forms, and the submissions of a class: the same questions, points and answers.

Three counting functions, a decoder with its parameters, and multi-head attention; 25 points in seven parts.
nbgrader and otter grade with test cells with constants. Our checks call the same functions and classes with
hidden inputs and compare with the reference.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

NAME = "bench"
IMPORTS = "import math\nimport time\n\nimport torch\nfrom torch import nn"
STUB = "# YOUR CODE HERE\nraise NotImplementedError()"


class Test(NamedTuple):
    """A test cell as an instructor writes it."""

    item: str
    points: int
    code: str


class Exercise(NamedTuple):
    """One question."""

    id: str
    answer: str
    prompt: str
    solution: str
    wrong: tuple[str, str]
    """A change of the solution that fails one test: the original text and its replacement."""
    tests: tuple[Test, ...]
    checks: str
    """Our file of checks."""

    @property
    def points(self) -> int:
        """Total points of its tests."""
        return sum(test.points for test in self.tests)


DECODER = """\
class Decoder(nn.Module):
    def __init__(self, vocabulary, width, hidden, layers):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.mix = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(width, hidden, bias=False) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(hidden, width, bias=False) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        x = self.tokens(ids)
        length = ids.shape[-1]
        seen = torch.tril(torch.ones(length, length, dtype=x.dtype))
        seen = seen / seen.sum(-1, keepdim=True)
        for mix, up, down in zip(self.mix, self.up, self.down):
            x = x + mix(seen @ x)
            x = x + down(torch.relu(up(x)))
        return self.head(x)"""

ATTENTION = """\
def attention(x, w_q, w_k, w_v, w_o, heads, mask=None):
    batch, length, width = x.shape
    split = lambda y: y.view(batch, length, heads, width // heads).transpose(1, 2)
    q, k, v = split(x @ w_q), split(x @ w_k), split(x @ w_v)
    scores = q @ k.transpose(-1, -2) / math.sqrt(width // heads)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    y = torch.softmax(scores, -1) @ v
    return y.transpose(1, 2).reshape(batch, length, width) @ w_o"""

COUNTING = """
from autograder.checking import assert_equal, check, solution

solution("bench.py")


@check(points=3, title="The number is right")
def number(student, reference, draw):
    for _ in range(2):
        first, second = (int(size) for size in draw.integers(7, 300, 2))
        assert_equal(student.{0}(first, second), reference.{0}(first, second))
"""

DECODER_CHECKS = """
import torch

from autograder.checking import Wrong, assert_close, check, solution

solution("bench.py")


@check(points=4, title="What comes out is right")
def values(student, reference, draw):
    model, right = student.Decoder(11, 6, 12, 2), reference.Decoder(11, 6, 12, 2)
    right.load_state_dict(model.state_dict())
    ids = draw.integers(0, 11, 2, 6)
    assert_close(model(ids), right(ids))


@check(points=4, title="No token sees a later one")
def causal(student, reference, draw):
    model, ids = student.Decoder(11, 6, 12, 2), draw.integers(0, 11, 2, 6)
    other = ids.clone()
    other[:, 3] = (ids[:, 3] + 1) % 11
    first, second = model(ids), model(other)
    assert_close(second[:, :3], first[:, :3])
    if torch.allclose(first[:, 3], second[:, 3]):
        raise Wrong("a token does not see itself")
"""

ATTENTION_CHECKS = """
from autograder.checking import assert_close, check, solution

solution("bench.py")


@check(points=4, title="The numbers are right")
def values(student, reference, draw):
    inputs = [draw.normal(2, 5, 8), *(draw.normal(8, 8) for _ in range(4)), 2]
    assert_close(student.attention(*inputs), reference.attention(*inputs))


@check(points=4, title="The mask is heeded")
def mask(student, reference, draw):
    inputs = [draw.normal(2, 5, 8), *(draw.normal(8, 8) for _ in range(4)), 2, draw.mask(2, 1, 1, 5)]
    assert_close(student.attention(*inputs), reference.attention(*inputs))
"""

EXERCISES = (
    Exercise(
        "embedding",
        "embedding_parameters",
        "The parameters of a table of `vocabulary` vectors and one of 512 positions, of the same `width`.",
        "def embedding_parameters(vocabulary, width):\n    return vocabulary * width + 512 * width",
        ("512 * width", "512"),
        (
            Test(
                "embedding-test",
                3,
                "assert embedding_parameters(100, 8) == 4896\nassert embedding_parameters(7, 3) == 1557",
            ),
        ),
        COUNTING.format("embedding_parameters"),
    ),
    Exercise(
        "feed-forward",
        "feed_forward_parameters",
        "The parameters of an MLP with one hidden layer, biases included.",
        "def feed_forward_parameters(width, hidden):\n    return 2 * width * hidden + width + hidden",
        ("+ width + hidden", ""),
        (
            Test(
                "feed-forward-test",
                3,
                "assert feed_forward_parameters(4, 16) == 148\nassert feed_forward_parameters(5, 2) == 27",
            ),
        ),
        COUNTING.format("feed_forward_parameters"),
    ),
    Exercise(
        "layer",
        "layer_parameters",
        "The parameters of a layer: four square matrices of attention, and an MLP without biases.",
        "def layer_parameters(width, hidden):\n    return 4 * width**2 + 2 * width * hidden",
        ("4 * width", "3 * width"),
        (
            Test(
                "layer-test", 3, "assert layer_parameters(4, 16) == 192\nassert layer_parameters(5, 2) == 120"
            ),
        ),
        COUNTING.format("layer_parameters"),
    ),
    Exercise(
        "decoder",
        "Decoder",
        "A decoder whose tokens see the mean of what stands before them.",
        DECODER,
        ("torch.relu(up(x))", "up(x)"),
        (
            Test(
                "decoder-values",
                4,
                "_ = torch.manual_seed(0)\nmodel = Decoder(11, 6, 12, 2).eval()\n"
                "x = model.tokens(torch.tensor([[1, 2, 3, 4]]))\n"
                "seen = torch.tril(torch.ones(4, 4)) / torch.tensor([[1.], [2.], [3.], [4.]])\n"
                "for a, b, c in zip(model.mix, model.up, model.down):\n"
                "    x = x + a(seen @ x)\n    x = x + c(torch.relu(b(x)))\n"
                "assert torch.allclose(model(torch.tensor([[1, 2, 3, 4]])), model.head(x), atol=1e-5)",
            ),
            Test(
                "decoder-causal",
                4,
                "_ = torch.manual_seed(1)\nmodel = Decoder(11, 6, 12, 2).eval()\n"
                "assert sum(p.numel() for p in model.parameters()) == 2 * 66 + 2 * (36 + 72 + 72)\n"
                "one, two = model(torch.tensor([[1, 2, 3, 4]])), model(torch.tensor([[1, 2, 9, 4]]))\n"
                "assert torch.allclose(one[:, :2], two[:, :2]) and not torch.allclose(one[:, 2], two[:, 2])",
            ),
        ),
        DECODER_CHECKS,
    ),
    Exercise(
        "attention",
        "attention",
        "Multi-head attention; where the mask is 0, nothing is seen.",
        ATTENTION,
        ("mask == 0", "mask == 2"),
        (
            Test(
                "attention-values",
                4,
                "_ = torch.manual_seed(2)\nx, *w = torch.randn(2, 5, 8), *torch.randn(4, 8, 8)\n"
                "q, k, v = ((x @ m).view(2, 5, 2, 4).transpose(1, 2) for m in w[:3])\n"
                "y = (torch.softmax(q @ k.transpose(-1, -2) / 2, -1) @ v).transpose(1, 2)\n"
                "assert torch.allclose(attention(x, *w, 2), y.reshape(2, 5, 8) @ w[3], atol=1e-4)",
            ),
            Test(
                "attention-mask",
                4,
                "_ = torch.manual_seed(3)\nx, *w = torch.randn(1, 4, 8), *torch.randn(4, 8, 8)\n"
                "mask = torch.tensor([1, 1, 0, 1]).view(1, 1, 1, 4)\n"
                "other = x.clone()\nother[:, 2] += 1.0\n"
                "one, two = attention(x, *w, 2, mask), attention(other, *w, 2, mask)\n"
                "assert torch.allclose(one[:, :2], two[:, :2], atol=1e-5)",
            ),
        ),
        ATTENTION_CHECKS,
    ),
)

POINTS = sum(exercise.points for exercise in EXERCISES)


def _build_metadata(grade_id: str, cell_type: str, **more: Any) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell."""
    defaults = {"schema_version": 3, "grade_id": grade_id, "grade": False, "solution": False, "locked": False}
    return {"nbgrader": {**defaults, "task": False, "cell_type": cell_type, **more}}


def _write_notebook(cells: list[Any]) -> str:
    notebook = new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for number, cell in enumerate(notebook.cells):
        # nbformat draws random ids; fixed ones make the notebook the same in every run.
        cell["id"] = f"cell-{number}"
    return str(nbformat.writes(notebook))


def _mark_solution(source: str) -> str:
    """Return a solution with the markers that both nbgrader and otter read."""
    return f"### BEGIN SOLUTION\n{source}\n### END SOLUTION"


def write_nbgrader_course(folder: Path) -> None:
    """Write an nbgrader course with the source of the assignment; tests are hidden."""
    cells = [new_code_cell(IMPORTS, metadata=_build_metadata("imports", "code", locked=True))]
    for exercise in EXERCISES:
        cells.append(
            new_markdown_cell(
                exercise.prompt, metadata=_build_metadata(f"{exercise.id}-text", "markdown", locked=True)
            )
        )
        answer = new_code_cell(
            _mark_solution(exercise.solution),
            metadata=_build_metadata(f"{exercise.id}-answer", "code", solution=True),
        )
        cells.append(answer)
        for test in exercise.tests:
            hidden = f"### BEGIN HIDDEN TESTS\n{test.code}\n### END HIDDEN TESTS"
            metadata = _build_metadata(test.item, "code", grade=True, locked=True, points=test.points)
            cells.append(new_code_cell(hidden, metadata=metadata))
    _write_text(folder / "source" / NAME / f"{NAME}.ipynb", _write_notebook(cells))
    _write_text(folder / "nbgrader_config.py", "c = get_config()\nc.CourseDirectory.course_id = 'bench'\n")


def write_otter_source(path: Path) -> None:
    """Write the notebook from which ``otter assign`` makes the student's version and the autograder."""
    cells = [
        nbformat.v4.new_raw_cell("# ASSIGNMENT CONFIG\nexport_cell: false\nrun_tests: false"),
        new_code_cell(IMPORTS),
    ]
    for exercise in EXERCISES:
        name = exercise.id.replace("-", "_")
        cells.append(
            nbformat.v4.new_raw_cell(
                f"# BEGIN QUESTION\nname: {name}\npoints: {exercise.points}\nmanual: false"
            )
        )
        cells.append(new_markdown_cell(exercise.prompt))
        cells.append(nbformat.v4.new_raw_cell("# BEGIN SOLUTION"))
        cells.append(new_code_cell(f"# BEGIN SOLUTION\n{exercise.solution}\n# END SOLUTION"))
        cells.append(nbformat.v4.new_raw_cell("# END SOLUTION"))
        cells.append(nbformat.v4.new_raw_cell("# BEGIN TESTS"))
        for test in exercise.tests:
            test_config = f"name: {test.item}\npoints: {test.points}\nhidden: true"
            head = f'""" # BEGIN TEST CONFIG\n{test_config}\n""" # END TEST CONFIG\n'
            cells.append(new_code_cell(head + test.code))
        cells.append(nbformat.v4.new_raw_cell("# END TESTS"))
        cells.append(nbformat.v4.new_raw_cell("# END QUESTION"))
    _write_text(path, _write_notebook(cells))


def write_our_course(folder: Path) -> None:
    """Write a course of ours: notebook, rubric, checks, reference."""
    cells = [
        new_code_cell(
            "from coursecheck import check", metadata=_build_metadata("check", "code", locked=True)
        ),
        new_code_cell(IMPORTS, metadata=_build_metadata("imports", "code", locked=True)),
    ]
    rubric = [
        f'version = 1\n\n[assignment]\nname = "{NAME}"\npoints = {POINTS}\nlanguages = ["en"]\n'
        'title.en = "Bench"\npreload = ["torch"]\n'
    ]
    for exercise in EXERCISES:
        cells.append(
            new_markdown_cell(
                exercise.prompt, metadata=_build_metadata(f"{exercise.id}-text", "markdown", locked=True)
            )
        )
        answer = new_code_cell(
            _mark_solution(exercise.solution),
            metadata=_build_metadata(f"{exercise.id}-answer", "code", solution=True),
        )
        metadata = _build_metadata(exercise.id, "code", grade=True, locked=True, points=exercise.points)
        cells += [answer, new_code_cell(f'check("{exercise.id}")', metadata=metadata)]
        rubric.append(
            f'[[question]]\nid = "{exercise.id}"\nkind = "code"\npoints = {exercise.points}\n'
            f'title.en = "{exercise.id}"\nanswer = "{exercise.answer}"\nchecks = '
            f'"{_name_check_file(exercise)}"\n'
        )
        _write_text(folder / "reference" / "checks" / _name_check_file(exercise), exercise.checks)
    _write_text(folder / "assignments" / NAME / f"{NAME}.ipynb", _write_notebook(cells))
    _write_text(folder / "rubrics" / f"{NAME}.toml", "\n".join(rubric))
    solutions = "\n\n\n".join((IMPORTS, *(exercise.solution for exercise in EXERCISES)))
    _write_text(folder / "reference" / "bench.py", solutions + "\n")


def _name_check_file(exercise: Exercise) -> str:
    return f"{exercise.id.replace('-', '_')}.py"


class Student(NamedTuple):
    """The submission of one student."""

    name: str
    answers: Mapping[str, str]
    """Code by exercise."""
    lost: Mapping[str, int]
    """Lost points by exercise."""


def generate_students(number: int, seed: int) -> Iterator[Student]:
    """Yield a class: of ten students, six have all right, two have an error, one crashes, and one is slow."""
    # Seeded, so that all programs get the same class.
    drawn = random.Random(seed)
    for position in range(number):
        # A unique comment, so that no program profits from identical submissions.
        answers = {exercise.id: f"# {seed}-{position}\n{exercise.solution}" for exercise in EXERCISES}
        lost: dict[str, int] = {}
        exercise, kind = drawn.choice(EXERCISES), position % 10
        if kind in {3, 6}:
            changed = exercise.solution.replace(*exercise.wrong)
            assert changed != exercise.solution
            answers[exercise.id] = changed
            test = exercise.tests[-1] if exercise.id == "attention" else exercise.tests[0]
            lost[exercise.id] = test.points
        elif kind == 8:
            answers[exercise.id] = f"{exercise.solution}\nraise RuntimeError('unfinished')".replace(
                exercise.answer, f"my_{exercise.answer}"
            )
            lost[exercise.id] = exercise.points
        elif kind == 9:
            answers["embedding"] = "time.sleep(0.2)\n" + get_exercise("embedding").solution
        yield Student(f"s{seed}-{position:05}", answers, lost)


def get_exercise(identifier: str) -> Exercise:
    """Return the exercise with this id."""
    return next(exercise for exercise in EXERCISES if exercise.id == identifier)


def fill_answers(release: str, answers: Mapping[str, str], *, otter: bool = False) -> str:
    """Return a released notebook with these answers filled in."""
    notebook = nbformat.reads(release, as_version=4)
    filled = 0
    for cell in notebook.cells:
        if otter:
            name = _find_exercise(notebook, cell)
        else:
            name = cell.metadata.get("nbgrader", {}).get("grade_id", "").removesuffix("-answer")
            name = name if cell.metadata.get("nbgrader", {}).get("solution") else ""
        if name in answers:
            cell.source = answers[name]
            filled += 1
    if filled != len(EXERCISES):
        raise ValueError(f"expected {len(EXERCISES)} answer cells, found {filled}")
    return str(nbformat.writes(notebook))


def _find_exercise(notebook: Any, cell: Any) -> str:
    """Return the exercise of an answer cell: otter's cells have no ids, but follow their prompt."""
    position = notebook.cells.index(cell)
    if cell.cell_type != "code" or not position or notebook.cells[position - 1].cell_type != "markdown":
        return ""
    prompt = notebook.cells[position - 1].source
    return next((exercise.id for exercise in EXERCISES if exercise.prompt in prompt), "")


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
