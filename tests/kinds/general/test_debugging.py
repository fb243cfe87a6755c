"""Planted faults in any listing: every set of them is told from every other, and what is not is named."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from autograder import assignment as assignments
from autograder import rubric
from autograder.checks.base import Draw, Trial
from autograder.course import Course
from autograder.errors import CourseError, RubricError
from autograder.grading import listings
from autograder.grading.pipeline import Grader
from autograder.grading.student_assignments import StudentAssignments
from autograder.kinds.general.debugging import DebuggingCheck, planted
from autograder.kinds.general.debugging.listing import Edit, FaultyListing
from autograder.personal.variant_set import make_variants
from autograder.records import ItemResult, Status
from autograder.sandbox.pool import Pool
from autograder.syntax import needed
from autograder.verify.papers import grade_answer_key
from autograder.verify.trials import TrialGrader
from tests.support.debugging_course import HEAD, NAME, TASKS, DebuggingCourse, judged, task
from tests.support.thorough import sample

NAMES = sorted(path.stem for path in TASKS.glob("*.toml"))
SOURCE = "def f(x):\n    a = x + 1\n    b = a * 2\n    return a, b\n"
QUESTION = (
    '[[question]]\nid = "q"\nkind = "debugging"\npoints = 5\nanswer = "f"\nreference = "task:f"\n'
    'library = "numpy"\ntries = 4\n[[question.case]]\nargs = [{ whole = [3, 9] }]\n'
)
ITEM = '[[question.item]]\nid = "{}"\npoints = 1\ntext = {{ en = "x" }}\n{}\n'


def fault(name: str, right: str, faulty: str) -> str:
    """The table of an item."""
    return ITEM.format(name, f'edit = [{{ right = "{right}", faulty = "{faulty}" }}]')


MASKED = QUESTION + "".join(
    (
        fault("sum", "x + 1", "x + 2"),
        fault("double", "a * 2", "a * 3"),
        fault("zero", "return a, b", "return a, 0"),
        fault("idle", "b =", "c = b ="),
        ITEM.format("new", "new_defect = true"),
    )
)

OTHERWISE = {
    "attention": """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.output, self.value, self.key, self.query = (nn.Linear(width, width) for _ in range(4))
        self.heads = heads

    def split(self, x):
        return torch.stack(x.chunk(self.heads, dim=-1), dim=1)

    def forward(self, x, lengths):
        seen = torch.arange(x.size(1)).lt(lengths.unsqueeze(1))[:, None, None]
        allowed = torch.ones(x.size(1), x.size(1)).tril().bool() & seen
        parts = [self.split(layer(x)) for layer in (self.query, self.key, self.value)]
        mixed = nn.functional.scaled_dot_product_attention(*parts, attn_mask=allowed)
        return self.output(torch.cat(mixed.unbind(1), dim=-1))
""",
    "layernorm": """
import torch

class LayerNorm(torch.nn.LayerNorm):
    def __init__(self, width, eps=1e-5):
        super().__init__([width], eps=eps)
""",
    "sampling": """
import torch

class Sampler:
    def __init__(self, temperature=1.0, top_k=0, top_p=1.0):
        self.args = temperature, top_k or None, top_p

    def probabilities(self, logits):
        temperature, k, p = self.args
        rows = []
        for row in logits.tolist():
            best = sorted(range(len(row)), key=lambda token: -row[token])[:k]
            weights = {token: 2.718281828459045 ** (row[token] / temperature) for token in best}
            total, kept, so_far = sum(weights.values()), {}, 0.0
            for token, weight in weights.items():
                if so_far >= p:
                    break
                kept[token] = weight
                so_far += weight / total
            rows.append([kept.get(token, 0.0) / sum(kept.values()) for token in range(len(row))])
        return torch.tensor(rows)

    def sample(self, logits, numbers):
        return torch.searchsorted(self.probabilities(logits).cumsum(-1), numbers[:, None], right=True)[:, 0]
""",
}
"""Right code that has little in common with the listing."""


@pytest.fixture(scope="module")
def masked(pool: Pool, tmp_path_factory: pytest.TempPathFactory) -> DebuggingCourse:
    """A fault that hides another, one that changes nothing, and an item for new defects."""
    return DebuggingCourse(tmp_path_factory.mktemp("masked") / "course", pool, MASKED, SOURCE)


def lost(results: dict[str, ItemResult]) -> set[str]:
    """The items that failed."""
    return {name for name, one in results.items() if one.status is Status.FAILED}


def waiting(results: dict[str, ItemResult]) -> set[str]:
    """The items that wait for a person."""
    return {name for name, one in results.items() if one.status is Status.NEEDS_REVIEW}


def test_faults_are_changes_of_the_text() -> None:
    """Any set of faults gives its listing; lines are indented as where they stand."""
    edits = {
        "sum": (Edit("x + 1", "x"),),
        "more": (Edit("b = a * 2\nreturn a, b", "for _ in x:\n    b = a\nreturn b", "f"),),
    }
    listing = FaultyListing(SOURCE, edits, "q")
    assert SOURCE == listing.text(())
    both = "def f(x):\n    a = x\n    for _ in x:\n        b = a\n    return b\n"
    assert both == listing.text(["more", "sum"])
    assert 4 == len(listing.subsets)


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        ({"one": (Edit("x + 3", "x"),)}, "fault 'one': expected 'x + 3' once, found 0 times"),
        ({"one": (Edit("a", "x"),)}, "found 3 times; give more of the line"),
        ({"one": (Edit("x", "y", "g"),)}, "there is no 'g'"),
        ({"one": (Edit("x + 1", "x"),), "two": (Edit("+ 1", "- 1"),)}, "'one' and 'two' change the same"),
        ({"one": (Edit("x + 1", "x +"),)}, "with one the listing is not Python: line 2"),
    ],
)
def test_faults_that_cannot_be_planted_are_named(edits: dict[str, tuple[Edit, ...]], told: str) -> None:
    """The fault, what was expected, and what to do."""
    with pytest.raises(CourseError) as raised:
        FaultyListing(SOURCE, edits, "q")
    assert told in str(raised.value)


def test_a_listing_is_what_a_name_needs() -> None:
    """Imports and helpers come along; of two definitions the last one counts, as in an answer key."""
    module = (
        "import math\nimport re\n\ndef f():\n    return 0\n\nK = math.pi\n\n# right\ndef f():\n    return K\n"
    )
    assert "import math\nK = math.pi\n\n\ndef f():\n    return K\n" == needed(module, "f").replace(
        "\n\n\nK", "\nK"
    )


@pytest.mark.parametrize("name", NAMES)
def test_right_code_in_other_words_is_other_code(name: str) -> None:
    """Every rewriting of a task of the catalogue is Python, and differs from the listing."""
    source = task(name)[1]
    texts = [text for _, text in planted.rewritten(source)]
    assert len({ast.dump(ast.parse(text)) for text in [source, *texts]}) == len(texts) + 1 > 3


@pytest.mark.sandbox
@pytest.mark.slow
def test_what_cannot_be_told_is_named(masked: DebuggingCourse) -> None:
    """One fault hides another, and one changes nothing: both are said, with the smallest example."""
    words = [one.words for one in masked.search.confusions]
    assert [
        "double: hidden by zero, in 4 listings",
        "idle: changes nothing that is looked at, whatever other faults there are",
    ] == words


@pytest.mark.sandbox
@pytest.mark.slow
def test_answers_are_judged_fault_by_fault(masked: DebuggingCourse) -> None:
    """What no probe decides waits for a person, and so long a new defect costs nothing."""
    right = masked.sit(SOURCE)
    assert (set(), {"idle"}) == (lost(right), waiting(right))
    both = masked.sit(masked.listing.text(["sum", "zero"]))
    assert ({"sum", "zero"}, {"double", "idle"}) == (lost(both), waiting(both))
    other = masked.sit("def f(number):\n    total = 1 + number\n    return [total, total + total]\n")
    assert (set(), {"idle"}) == (lost(other), waiting(other))
    defect = masked.sit("def f(x):\n    return x + 1, 17 * x\n")
    assert set() == lost(defect)
    assert {"sum", "double", "zero", "idle", "new"} >= waiting(defect) >= {"sum", "new"}
    assert "may be why; computes what no listing computes; nearest is" in defect["new"].staff
    assert defect["sum"].staff.count("computes what no listing computes") == 1
    missing = masked.sit("g = 1\n")
    assert {Status.FAILED, Status.NO_ANSWER} >= {one.status for one in missing.values()}


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_call_that_hangs_or_raises_is_an_outcome(pool: Pool, tmp_path: Path) -> None:
    """A fault that never ends and one that raises are told, and do not hide a fault in another use."""
    source = "def f(n):\n    while n > 0:\n        n -= 1\n    return [1][n]\n\ndef g(n):\n    return n\n"
    question = QUESTION.replace("points = 5", "points = 2").replace("tries = 4", "tries = 1") + "".join(
        (fault("ends", "n -= 1", "n += 1"), fault("index", "[1][n]", "[1][n + 1]"))
    )
    course = DebuggingCourse(tmp_path / "course", pool, question, source)
    assert ["index: hidden by ends, in one listing"] == [one.words for one in course.search.confusions]
    assert {"index"} == lost(course.sit(course.listing.text(["index"])))


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_step_that_never_ends_hides_none_before_it(pool: Pool, tmp_path: Path) -> None:
    """What a step of the answer gave is told at once, also where the whole use ends the box."""
    source = "def f(n):\n    while n > 5:\n        n -= 1\n    return [2, 3][n > 2]\n"
    use = '[[question.use]]\nname = "both"\ntries = 1\nstep = [{ args = [1] }, { args = [9] }]\n'
    question = QUESTION.partition("[[question.case]]")[0].replace("points = 5", "points = 2") + use
    question += fault("ends", "n -= 1", "n += 1") + fault("two", "[2, 3]", "[4, 3]")
    course = DebuggingCourse(tmp_path / "course", pool, question, source)
    assert not course.search.confusions
    assert {"ends", "two"} == lost(course.sit(course.listing.text(["ends", "two"])))
    assert {"ends"} == lost(course.sit(course.listing.text(["ends"])))


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize(
    ("construct", "told"),
    [("", "the right listing gives TypeError; state how the code is used"), ("construct = {}", "")],
)
def test_a_class_that_is_not_constructed_is_refused(
    pool: Pool, tmp_path: Path, construct: str, told: str
) -> None:
    """What would leave every answer to a person is told to the author before anybody is graded."""
    source = "class f:\n    def double(self, x):\n        return x * 2\n"
    case = f'mode = "as-is"\n{construct}\n[[question.case]]\nmethod = "double"'
    question = QUESTION.replace("points = 5", "points = 1").replace("[[question.case]]", case)
    question += fault("double", "x * 2", "x + 2")
    if told:
        with pytest.raises(RubricError) as raised:
            DebuggingCourse(tmp_path / "course", pool, question, source)
        assert told in str(raised.value)
    else:
        course = DebuggingCourse(tmp_path / "course", pool, question, source)
        assert {"double"} == lost(course.sit(course.listing.text(["double"])))
        of_object = course.sit(course.listing.text(["double"]) + "\nf = f()\n")
        assert {"double"} == lost(of_object)
        assert "note: f is an object: its class was judged" in of_object["double"].staff
        assert "f is an object: its class was judged" == of_object["double"].remark


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_use_in_which_the_right_listing_raises_is_told(pool: Pool, tmp_path: Path) -> None:
    """Where it always does, the question is refused, unless the author says that this is looked at."""
    use = '[[question.use]]\nname = "bad"\n{}step = [{{ args = ["x"] }}]\n'
    faults = fault("sum", "x + 1", "x + 2")
    question = QUESTION.replace("points = 5", "points = 1")
    with pytest.raises(RubricError) as raised:
        DebuggingCourse(tmp_path / "silent", pool, question + use.format("") + faults, SOURCE)
    assert "use 'bad': the right listing raises TypeError in 4 of 4 tries, in step 1: " in str(raised.value)
    assert 'can only concatenate str (not "int") to str' in str(raised.value)
    course = DebuggingCourse(
        tmp_path / "said", pool, question + use.format("raises = true\n") + faults, SOURCE
    )
    assert {"bad": ("TypeError", 4, 4)} == course.check.raising(course.named)
    assert () == course.check.not_asked(course.named)
    assert any(probe.startswith("bad") for probe in course.search.probes)
    some = '[[question.use]]\nname = "some"\nstep = [{ args = [{ choose = [1, "x"] }] }]\n'
    with pytest.raises(RubricError) as raised:
        DebuggingCourse(tmp_path / "some", pool, question + some + faults, SOURCE)
    told = "use 'some': argument 1 = 'x': the right listing raises TypeError in 2 of 2 tries"
    assert told in str(raised.value)


@pytest.mark.sandbox
@pytest.mark.slow
def test_edge_cases_tell_faults(pool: Pool, tmp_path: Path) -> None:
    """Equal entries tell what drawn ones do not; where the right listing raises, that is told."""
    source = "def f(x):\n    return sum(map(len, x)) / len(x), sorted(x)\n"
    words = '{ list = { text = "unicode", length = [6, 8] }, edges = true }'
    question = QUESTION.replace("points = 5", "points = 1").replace("{ whole = [3, 9] }", words)
    question += fault("set", "sorted(x)", "sorted(set(x))")
    course = DebuggingCourse(tmp_path / "course", pool, question, source)
    found = course.search
    told = [name for name, at in zip(found.probes, found.chosen, strict=True) if found.kills("set", at)]
    (use, raised), *_ = course.check.raising(course.named).items()
    assert ([f"{use} 3"], ("ZeroDivisionError", 1, 4)) == (told, raised)
    assert f"use {use!r}: argument 1 is empty" in course.check.not_asked(course.named)
    assert {"set"} == lost(course.sit(course.listing.text(["set"])))
    assert not lost(course.sit(source.replace("sorted(x)", "[*sorted(list(x))]")))


@pytest.mark.sandbox
@pytest.mark.slow
def test_listings_that_take_too_long_are_refused(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of them is kept, and the next run computes them."""
    question = QUESTION.replace("points = 5", "points = 1") + fault("sum", "x + 1", "x + 2")
    monkeypatch.setattr(listings, "WALL_SECONDS", -1.0)
    with pytest.raises(CourseError, match=r"question 'q': its 2 listings, with 4 probes each, were not run"):
        DebuggingCourse(tmp_path / "course", pool, question, SOURCE)
    course = Course.at(tmp_path / "course")
    kept = course.private / "expected"
    assert [] == list(kept.glob("*.listings"))
    monkeypatch.undo()
    sittings = Grader(assignments.load(course, NAME), pool).sittings
    assert 2 == len(sittings.common.named["q"])
    assert 1 == len(list(kept.glob("*.listings")))


def exact(course: DebuggingCourse) -> int:
    """How many sets of faults lose exactly these faults, with nothing for a person."""
    found = 0
    for one in course.named:
        results = course.judge(one.observed)
        found += lost(results) == set(one.code.split()) and not waiting(results)
    return found


def whole_task(pool: Pool, folder: Path, name: str) -> None:
    """Assert that all sets of faults of a task are exact, and right code in other words loses nothing."""
    course = DebuggingCourse(folder / name, pool, *task(name))
    assert () == course.search.confusions
    assert 2 ** len(course.faults) == len(course.named) == exact(course)
    assert set(course.faults) == lost(course.sit(course.listing.text(course.faults)))
    others = [("written otherwise", OTHERWISE[name])] if name in OTHERWISE else []
    for words, source in [*planted.rewritten(course.listing.source), *others]:
        results = course.sit(source)
        assert (set(), set()) == (lost(results), waiting(results)), words


@pytest.mark.sandbox
@pytest.mark.apart
@pytest.mark.parametrize("name", sample([name for name in NAMES if name != "decoder"], 4))
def test_every_set_of_faults_is_exact(pool: Pool, tmp_path: Path, name: str) -> None:
    """All sets of faults of a task of the catalogue are told from each other, in its text and in others.

    The decoder, whose listings take a minute, has a file of its own.
    """
    whole_task(pool, tmp_path, name)


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_right_listing_that_takes_long_is_judged(pool: Pool, tmp_path: Path) -> None:
    """What hangs is told by how long the right one takes, as on a slow machine, not by seconds alone."""
    source = (
        "import time\n\ndef f(n):\n    end = time.process_time() + 0.8\n"
        "    while time.process_time() < end:\n        pass\n    return n + 1\n"
    )
    question = QUESTION.replace("points = 5", "points = 1").replace("tries = 4", "tries = 1")
    question += fault("plus", "n + 1", "n + 2")
    course = DebuggingCourse(tmp_path / "course", pool, question, source)
    assert {"plus"} == lost(course.sit(source.replace("n + 1", "n + 2")))
    assert set() == lost(course.sit(source))


@pytest.mark.sandbox
@pytest.mark.slow
def test_what_torch_imports_late_costs_nobody_time(pool: Pool, tmp_path: Path) -> None:
    """A student's own optimizer, where the assignment has none: it is imported before the box is forked."""
    course = DebuggingCourse(tmp_path / "course", pool, *task("layernorm"))
    assert ("torch",) == course.assignment.preload
    used = "\nimport torch\ntorch.optim.SGD([torch.ones(2, requires_grad=True)], 0.1).step()\n"
    results = course.sit(course.listing.source + used)
    assert (set(), set()) == (lost(results), waiting(results))
    usual = course.processor_seconds
    course.sit(course.listing.source + used.replace("torch.optim", "getattr(torch, 'opt' 'im')"))
    assert 2 * usual < course.processor_seconds  # in its own box, as whoever hides it wants


RELATED = (
    QUESTION.replace("points = 5", "points = 2").replace("tries = 4", "tries = 1")
    + fault("sum", "x + 1", "x + 2")
    + fault("double", "a * 2", "a * 3")
    + '[[question.use]]\nname = "twice as much"\nabout = "double"\nrelate = [[1, 2], [1, 3]]\n'
    + 'step = [{ args = [4], keep = "y" }, { of = "y", method = "__getitem__", args = [1] }, '
    + '{ of = "y", method = "__getitem__", args = [0], keep = "a" }, '
    + '{ of = "a", method = "__mul__", args = [2] }, { of = "a", method = "__mul__", args = [5] }]\n'
)


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_relation_decides_about_code_that_computes_something_else(pool: Pool, tmp_path: Path) -> None:
    """A fault is left where the relation about it does not hold; what raises goes to a person."""
    course = DebuggingCourse(tmp_path / "course", pool, RELATED, SOURCE)
    assert "twice as much 1" in course.search.probes
    right = course.sit("def f(x):\n    return x + 7, 2 * (x + 7)\n")
    assert (set(), {"sum"}) == (lost(right), waiting(right))
    other = course.sit("def f(x):\n    return x + 7, 5 * (x + 7)\n")
    assert ({"double"}, {"sum"}) == (lost(other), waiting(other))
    odd = course.sit("def f(x):\n    return None\n")
    assert (set(), {"sum", "double"}) == (lost(odd), waiting(odd))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('about = "double"', 'about = "doubel"', "no fault 'doubel'; known: sum, double"),
        ('about = "double"', "alone = true", 'depends on one fault alone; about = "…" names it'),
        ('about = "double"', 'instead = "other"', "use 'twice as much': no use 'other'; known: "),
        (
            'about = "double"',
            'about = "double"\nwhole = true',
            "and about names one; leave out one of the two",
        ),
        (
            'about = "double"',
            "weights = { w = [1] }",
            "the question's weights have no 'w'; known: none",
        ),
        ('about = "double"', "further = true", 'further = true needs about = "…", the fault'),
        (
            'name = "twice as much"\nabout = "double"',
            'name = "a"\nabout = "sum"\nfurther = true\nstep = [{ args = [1] }]\n[[question.use]]\n'
            'name = "b"\ninstead = "a"',
            "nothing can stand in for 'a', which is further",
        ),
        ("[[1, 2], [1, 3]]", "[[1, 4]]", "relate names [1, 4]; 3 things are looked at"),
        ("[[1, 2], [1, 3]]", "[[1, 2]]\nsure = [4]", "sure names [4]; 3 things are looked at"),
        (
            "relate = [[1, 2], [1, 3]]",
            "sure = [1]",
            'sure needs about = "…", the fault that is left to a person',
        ),
    ],
)
def test_a_relation_that_cannot_be_read_is_refused(before: str, after: str, told: str) -> None:
    """The use, what is wrong with it, and what there is."""
    head = HEAD.format(points=2, preload='["numpy"]')
    made = rubric.parse((head + RELATED.replace(before, after)).encode())
    with pytest.raises(RubricError) as raised:
        DebuggingCheck(made.questions[0], made)
    assert told in str(raised.value)


WEIGHTS = """
[[question]]
id = "q"
kind = "debugging"
points = 1
answer = "Layer"
reference = "task:Layer"
tries = 1
construct = { args = [3] }
weights = { "inner.weight" = [2, 3], "inner.bias" = [2] }
[[question.case]]
args = [{ draw = "normal", shape = [4, 3] }]
"""
LAYER = """
from torch import nn

class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, 2)

    def forward(self, x):
        return self.inner(x) * 2
"""


@pytest.mark.sandbox
@pytest.mark.slow
def test_weights_are_found_under_other_names(pool: Pool, tmp_path: Path) -> None:
    """By name, then by shape and order; further rows of a table that is longer are zeros."""
    question = WEIGHTS + fault("twice", "* 2", "* 3")
    course = DebuggingCourse(tmp_path / "course", pool, question, LAYER)
    renamed = LAYER.replace("inner", "layer")
    assert set() == lost(course.sit(renamed))
    assert {"twice"} == lost(course.sit(renamed.replace("* 2", "* 3")))
    longer = LAYER.replace("width, 2", "width, 5").replace("(x) * 2", "(x)[:, :2] * 2")
    assert "as expected" not in course.sit(longer)["twice"].staff
    assert (set(), set()) == (lost(course.sit(longer)), waiting(course.sit(longer)))


@pytest.mark.sandbox
@pytest.mark.slow
def test_attempts_meet_hidden_inputs_of_their_own(pool: Pool, tmp_path: Path) -> None:
    """With ``redraw`` other probes of those that were tried are asked, and every set is told as exactly."""
    question = QUESTION.replace("points = 5", "points = 2") + "".join(
        (fault("sum", "x + 1", "x + 2"), fault("double", "a * 2", "a * 3"))
    )
    course = DebuggingCourse(tmp_path / "course", pool, question, SOURCE, redraw="attempt")
    asked = {course.check.search(course.named, Draw(bytes([turn]) * 32)).probes for turn in range(4)}
    assert len(asked) > 1
    for subset in course.listing.subsets:
        for attempt in range(3):
            results = course.sit(f"# {attempt}\n{course.listing.text(subset)}")
            assert (set(subset), set()) == (lost(results), waiting(results))


POOL = """
FAULTS = [
    {"id": "sum", "right": "x + 1", "faulty": "x + 2"},
    {"id": "double", "right": "a * 2", "faulty": "a * 3"},
    {"id": "order", "right": "return a, b", "faulty": "return b, a"},
]


def catalogue():
    return [
        {
            "id": one["id"],
            "difficulty": 1,
            "text": {"en": one["id"]},
            "item": {"edit": [{"right": one["right"], "faulty": one["faulty"]}]},
        }
        for one in FAULTS
    ]


def listing(faults):
    import inspect

    text = inspect.getsource(f)
    for one in FAULTS:
        if one["id"] in faults:
            text = text.replace(one["right"], one["faulty"])
    return text
"""
DRAWN = '[variant.draw.faults]\nfaults = "task"\nquestion = "q"\ndifficulty = [2, 2]\n'


@pytest.mark.sandbox
@pytest.mark.slow
def test_students_get_faults_of_their_own(pool: Pool, tmp_path: Path) -> None:
    """Two of three are drawn for each; each one's are told as exactly as the common ones."""
    question = (
        DRAWN
        + QUESTION.replace("points = 5", "points = 2")
        + "".join((fault("sum", "x + 1", "x + 2"), fault("double", "a * 2", "a * 3")))
    )
    course = DebuggingCourse(tmp_path / "course", pool, question, SOURCE + POOL)
    students = [f"student{number}" for number in range(6)]
    made = make_variants(course.assignment, students, pool)
    drawn = {made.variants[student].faults["faults"]: student for student in students}
    assert {("sum", "order"), ("double", "order")} <= set(drawn)
    for faults, student in drawn.items():
        asked = made.common.with_variant(made.variants[student], made.catalogues)
        check = asked.checks["q"]
        assert isinstance(check, DebuggingCheck)
        assert faults == tuple(check.faults)
        sittings = StudentAssignments(course.assignment, course.course.secret(), pool, {student: asked})
        sitting = sittings.of(student, {})
        for one in sitting.named["q"]:
            results = judged(check, sitting.named["q"], one.observed)
            assert (set(one.code.split()), set()) == (lost(results), waiting(results))


@pytest.mark.sandbox
@pytest.mark.slow
def test_listings_are_planted_one_after_another(masked: DebuggingCourse) -> None:
    """Each loses what it has, also after one that ended the box, which is to be run by itself."""
    grading = TrialGrader(masked.grader, grade_answer_key(masked.grader))
    sources = {name: masked.listing.text([name]) for name in ("sum", "double")}
    sources = {"sum": sources["sum"], "ends": "def f(x):\n    __import__('os')._exit(1)\n", **sources}
    trials = [Trial(name, source, (name,)) for name, source in sources.items()]
    assert all(grading.is_listing(masked.question, trial) for trial in trials)
    scores = grading.one_after_another(masked.question, trials)
    assert ["sum", "double"] == list(scores)
    for name, score in scores.items():
        assert {name} == lost({one.item: one for one in score.items})


@pytest.mark.sandbox
def test_what_is_further_is_asked_of_code_in_other_words_alone(tmp_path: Path, pool: Pool) -> None:
    """Code that gives what one listing gives is decided by that; of other code a relation speaks."""
    uses = """
[[question.use]]
name = "plain"
tries = 2
step = [{ args = [{ whole = [1, 50] }] }]

[[question.use]]
name = "huge"
whole = true
tries = 1
step = [{ args = [{ whole = [1000, 2000] }] }]

[[question.use]]
name = "first of none"
about = "sum"
further = true
tries = 1
relate = [[1, 2], [1, 3]]
step = [
  { args = [0], keep = "y" },
  { of = "@operator", method = "getitem", args = [{ kept = "y" }, 0] },
  { of = "@operator", method = "pos", args = [1] },
  { of = "@operator", method = "pos", args = [7] },
]
"""
    faults = fault("sum", "x + 1", "x + 2") + fault("double", "a * 2", "a * 3")
    question = QUESTION.replace("points = 5", "points = 2")
    course = DebuggingCourse(tmp_path / "course", pool, question + uses + faults, SOURCE)
    assert "first of none 1" in set(course.search.probes) - set(course.search.asked_first)
    plainly = "def f(x):\n    a = x + {}\n    if x == 0:\n        raise ValueError\n    return a, a * 2\n"
    otherwise = "def f(x):\n    a = x + {}\n    return a, a * 2, 'what nobody asked for'\n"
    for added, status in ((1, Status.PASSED), (2, Status.FAILED)):
        same, other = course.sit(plainly.format(added))["sum"], course.sit(otherwise.format(added))["sum"]
        assert status is same.status, same.staff
        assert "computes the same as" in same.staff
        assert status is other.status, other.staff
        assert "first of none 1" in other.staff
    # What is whole makes nobody lose a point, but what is right elsewhere alone does not pass either.
    small = course.sit("def f(x):\n    a = x + 1\n    return a, (a * 2 if x < 900 else 0)\n")
    assert {Status.NEEDS_REVIEW} == {one.status for one in small.values()}
    assert "computes the same as the right listing, but not in huge 1" in small["sum"].staff
    left = course.sit("def f(x):\n    a = x + 2\n    return a, (a * 2 if x < 900 else 0)\n")
    assert {"sum": Status.FAILED, "double": Status.PASSED} == {name: one.status for name, one in left.items()}


@pytest.mark.sandbox
def test_a_use_that_stands_in_is_asked_where_the_other_one_raises(tmp_path: Path, pool: Pool) -> None:
    """Code that is right but for what only one use looks at is judged by the other one, each way."""
    use = '[[question.use]]\nname = "{}"\nabout = "sum"\ntries = 1\n{}step = [{{ args = [{}] }}]\n'
    uses = use.format("at none", "", 0) + use.format("at some", 'instead = "at none"\n', 50)
    faults = fault("sum", "x + 1", "x + 2") + fault("double", "a * 2", "a * 3")
    question = QUESTION.replace("points = 5", "points = 2")
    course = DebuggingCourse(tmp_path / "course", pool, question + uses + faults, SOURCE)
    assert "at none 1" in course.search.asked_first
    assert "at some 1" in set(course.search.probes) - set(course.search.asked_first)
    raising = "def f(x):\n    0 / x\n    a = x + {}\n    return a, a * 2\n"
    for added, status in ((1, Status.PASSED), (2, Status.FAILED)):
        results = course.sit(raising.format(added))
        assert status is results["sum"].status, results["sum"].staff
        assert Status.PASSED is results["double"].status
    looked_at = course.sit(
        "def f(x):\n    if x == 50:\n        raise ValueError\n    return x + 1, (x + 1) * 2\n"
    )
    assert {Status.PASSED} == {one.status for one in looked_at.values()}
