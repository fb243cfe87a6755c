"""Task 3 of the exam, submission by submission: a mistake that is carried forward costs points once."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import pytest

from autograder.core.records import ItemResult, Status
from tests.authoring.demo.marking import exam, marks

CARRIED = "formula.carried-forward"
NAMES: Mapping[str, tuple[str, ...]] = {
    "a": ("query_matrix_parameters",),
    "b": ("mlp_parameters",),
    "c": ("output_matrix_parameters",),
    "d": ("layer_parameters",),
    "e": ("width_assumption", "layer_parameters_simplified"),
    "f": ("model_parameters",),
    "h": ("first_matrix_shape", "second_matrix_shape", "wide_mlp_parameters"),
    "i": ("changed_model_parameters",),
}
ATTENTION = "4*n_heads*d_model*d_head"
RIGHT: Mapping[str, tuple[str, ...]] = {
    "a": ("d_model*d_head",),
    "b": ("8*d_model^2",),
    "c": ("n_heads*d_head*d_model",),
    "d": (f"{ATTENTION} + 8*d_model^2",),
    "e": ("d_model = n_heads*d_head", "12*d_model^2"),
    "f": ("12*n_layers*d_model^2",),
    "h": ("(3*d_model, 4*d_model)", "(4*d_model, d_model)", "16*d_model^2"),
    "i": ("20*n_layers*d_model^2",),
}

Answers = Mapping[str, str | tuple[str, ...]]


def graded(answers: Answers) -> dict[str, ItemResult]:
    """Return the results of a whole task 3 by ``part.item``; parts that are not given are right."""
    earlier: dict[str, ItemResult] = {}
    for part, names in NAMES.items():
        given = answers.get(part, RIGHT[part])
        values = (given,) if isinstance(given, str) else given
        values = (*RIGHT[part][: len(names) - len(values)], *values)
        source = "\n".join(f"{name} = {value!r}" for name, value in zip(names, values, strict=True))
        found = marks(f"task3-{part}", source, earlier=earlier)
        earlier |= {f"task3-{part}.{item}": result for item, result in found.items()}
    manual = {f"task3-{part}.why" for part in NAMES}
    return {name.removeprefix("task3-"): one for name, one in earlier.items() if name not in manual}


def lost(answers: Answers) -> dict[str, Decimal]:
    """Return the points lost by each item that loses some."""
    return {
        name: one.possible - one.points for name, one in graded(answers).items() if one.points != one.possible
    }


def points(**of: str) -> dict[str, Decimal]:
    """Return points by item, with ``b_formula`` for ``b.formula``."""
    return {name.replace("_", ".", 1): Decimal(value) for name, value in of.items()}


MISCONCEPTIONS: Mapping[str, tuple[Answers, dict[str, Decimal]]] = {
    "nothing wrong": ({}, {}),
    "the relation of (e) used in (c)": ({"c": "d_model^2"}, {}),
    "the relation of (e) used in (c), with biases": ({"c": "d_model^2 + d_model"}, {}),
    "the hidden width squared in (b)": (
        {
            "b": "16*d_model^2",
            "d": f"{ATTENTION} + 16*d_model^2",
            "e": "20*d_model^2",
            "f": "20*n_layers*d_model^2",
        },
        points(b_formula="0.5"),
    ),
    "the same, and its width in (h) and (i)": (
        {
            "b": "16*d_model^2",
            "d": "3*n_heads*d_model*d_head + n_heads*d_head*d_model + 16*d_model^2",
            "e": "20*d_model^2",
            "f": "n_layers*20*d_model^2",
            "h": ("(3*d_model, 8*d_model)", "(8*d_model, d_model)", "32*d_model^2"),
            "i": "36*n_layers*d_model^2",
        },
        points(b_formula="0.5"),
    ),
    "one matrix of the MLP": (
        {
            "b": "4*d_model^2",
            "d": f"{ATTENTION} + 4*d_model^2",
            "e": "8*d_model^2",
            "f": "8*n_layers*d_model^2",
        },
        points(b_formula="0.5"),
    ),
    "no expansion in the MLP": (
        {
            "b": "2 d²",
            "d": "4 h d d_k + 2 d²",
            "e": "6 d²",
            "f": "6 L d²",
            "h": ("(3d, d)", "(d, d)", "4 d²"),
            "i": "8 L d²",
        },
        points(b_formula="0.5"),
    ),
    "no output projection in a layer": (
        {
            "d": "3*n_heads*d_model*d_head + 8*d_model^2",
            "e": "11*d_model^2",
            "f": "11*n_layers*d_model^2",
            "i": "19*n_layers*d_model^2",
        },
        points(d_formula="0.75"),
    ),
    "two of the three matrices of a head": (
        {
            "d": "2*n_heads*d_model*d_head + 8*d_model^2",
            "e": "10*d_model^2",
            "f": "10*n_layers*d_model^2",
            "i": "18*n_layers*d_model^2",
        },
        points(d_formula="0.75"),
    ),
    "the heads are not put together": (
        {
            "c": "d_head*d_model",
            "d": "3*n_heads*d_model*d_head + d_head*d_model + 8*d_model^2",
            "e": "11*d_model^2 + d_model^2/n_heads",
            "f": "n_layers*(11*d_model^2 + d_model^2/n_heads)",
            "i": "n_layers*(19*d_model^2 + d_model^2/n_heads)",
        },
        points(c_formula="0.5"),
    ),
    "a square matrix in a head": (
        {
            "a": "d_head^2",
            "d": "3*n_heads*d_head^2 + n_heads*d_head*d_model + 8*d_model^2",
            "e": "3*d_model*d_head + 9*d_model^2",
            "f": "n_layers*(3*d_model*d_head + 9*d_model^2)",
            "i": "n_layers*(3*d_model*d_head + 17*d_model^2)",
        },
        points(a_formula="1"),
    ),
    "two mistakes cost twice": (
        {
            "b": "4*d_model^2",
            "d": "3*n_heads*d_model*d_head + 4*d_model^2",
            "e": "7*d_model^2",
            "f": "7*n_layers*d_model^2",
        },
        points(b_formula="0.5", d_formula="0.75"),
    ),
    "a matrix is lost in (e) alone": ({"e": "11*d_model^2"}, points(e_formula="1")),
    "a matrix is lost in (e), and carried on": (
        {"e": "11*d_model^2", "f": "11*n_layers*d_model^2", "i": "19*n_layers*d_model^2"},
        points(e_formula="1"),
    ),
    "two are lost in (e), and carried on": (
        {"e": "10 d²", "f": "10 L d²"},
        points(e_formula="1"),
    ),
    "a matrix is lost in (f) alone": ({"f": "11*n_layers*d_model^2"}, points(f_formula="0.25")),
    "two are lost in (f) alone": ({"f": "10*n_layers*d_model^2"}, points(f_formula="0.25")),
    "(d) left out": (
        {"b": "16*d_model^2", "d": "", "e": "20*d_model^2", "f": "20*n_layers*d_model^2"},
        points(b_formula="0.5", d_formula="1.5"),
    ),
    "(e) left out": (
        {"d": "3*n_heads*d_model*d_head + 8*d_model^2", "e": "", "f": "11*n_layers*d_model^2"},
        points(d_formula="0.75", e_formula="2"),
    ),
    "the hidden layer is widened in (h)": (
        {
            "h": ("(3*d_model, 12*d_model)", "(12*d_model, d_model)", "48*d_model^2"),
            "i": "52*n_layers*d_model^2",
        },
        points(h_first="0.5"),
    ),
    "the whole MLP is tripled in (h)": (
        {"h": "24*d_model^2", "i": "28*n_layers*d_model^2"},
        points(h_sum="0.75"),
    ),
    "the output is widened in (h)": (
        {
            "h": ("(3*d_model, 4*d_model)", "(4*d_model, 3*d_model)", "24*d_model^2"),
            "i": "n_layers*(4*d_model^2 + 24*d_model^2)",
        },
        points(h_second="0.5"),
    ),
    "the layers are forgotten in (f) and in (i)": (
        {"f": "12*d_model^2", "i": "20*d_model^2"},
        points(f_formula="0.5"),
    ),
    "every layer counted twice in (f) and in (i)": (
        {"f": "24*n_layers*d_model^2", "i": "40*n_layers*d_model^2"},
        points(f_formula="0.25"),
    ),
    "embeddings in (f) and in (i)": (
        {
            "f": "12*n_layers*d_model^2 + n_voc*d_model",
            "i": "20*n_layers*d_model^2 + n_voc*d_model",
        },
        points(f_formula="0.25"),
    ),
    "embeddings in (i) alone": ({"i": "20*n_layers*d_model^2 + n_voc*d_model"}, points(i_formula="1")),
    "all of attention for one head": (
        {"d": "4*d_model*d_head + 8*d_model^2", "e": "8*d_model^2 + 4*d_model^2/n_heads"},
        points(d_formula="0.75"),
    ),
    "biases throughout": (
        {
            "a": "d_model*d_head + d_head",
            "b": "8*d_model^2 + 5*d_model",
            "c": "n_heads*d_head*d_model + d_model",
            "d": f"{ATTENTION} + 8*d_model^2 + 3*n_heads*d_head + 6*d_model",
            "e": "12*d_model^2 + 9*d_model",
            "f": "n_layers*(12*d_model^2 + 9*d_model)",
            "h": "16*d_model^2 + 5*d_model",
            "i": "n_layers*(20*d_model^2 + 9*d_model)",
        },
        {},
    ),
    "biases in (a) to (c), then none": (
        {
            "a": "d_model*d_head + d_head",
            "b": "8*d_model^2 + 5*d_model",
            "c": "n_heads*d_head*d_model + d_model",
        },
        {},
    ),
    "some of the biases in (d)": (
        {"d": f"{ATTENTION} + 8*d_model^2 + 5*d_model"},
        points(d_formula="0.3"),
    ),
    "some of the biases in (i)": ({"i": "n_layers*(20*d_model^2 + 5*d_model)"}, points(i_formula="0.4")),
    "biases, and no output projection": (
        {
            "d": "3*n_heads*d_model*d_head + 8*d_model^2 + 3*n_heads*d_head + 5*d_model",
            "e": "11*d_model^2 + 8*d_model",
            "f": "n_layers*(11*d_model^2 + 8*d_model)",
        },
        points(d_formula="0.75"),
    ),
    "the relation of (e) used in (c), and carried on": (
        {"c": "d_model^2", "d": "3*n_heads*d_model*d_head + d_model^2 + 8*d_model^2"},
        points(d_formula="0.3"),
    ),
    "the relation of (e) used in (d)": ({"d": "12*d_model^2"}, points(d_formula="0.3")),
    "biases of the MLP alone, as in the first transformers": (
        {
            "b": "4*d_model*(d_model + 1) + (4*d_model + 1)*d_model",
            "d": "3*n_heads*d_model*d_head + n_heads*d_head*d_model + 8*d_model^2 + 5*d_model",
            "e": "5*d_model + 12*d_model^2",
            "f": "n_layers*(5*d_model + 12*d_model^2)",
            "h": "16*d_model^2 + 5*d_model",
            "i": "n_layers*(20*d_model^2 + 5*d_model)",
        },
        {},
    ),
    "biases of the heads alone": (
        {"a": "(d_model + 1)*d_head", "d": f"{ATTENTION} + 3*n_heads*d_head + 8*d_model^2"},
        {},
    ),
    "biases of the heads, lost in (d), where those of the MLP are": (
        {"a": "(d_model + 1)*d_head", "b": "8 d² + 5 d", "d": f"{ATTENTION} + 8 d² + 5 d"},
        points(d_formula="0.3"),
    ),
    "a bias is forgotten in (b), and again in (h)": (
        {"b": "8*d_model^2 + d_model", "h": "16*d_model^2 + d_model"},
        points(b_formula="0.2"),
    ),
    "(h) adds to an MLP that is wrong": (
        {
            "b": "10*d_model^2",
            "d": f"{ATTENTION} + 10*d_model^2",
            "e": "14*d_model^2",
            "f": "14*n_layers*d_model^2",
            "h": "18*d_model^2",
            "i": "22*n_layers*d_model^2",
        },
        points(b_formula="0.5"),
    ),
    "the same second matrix is forgotten in (b) and in (h)": (
        {"b": "4 d²", "d": f"{ATTENTION} + 4 d²", "e": "8 d²", "f": "8 L d²", "h": "12 d²", "i": "16 L d²"},
        points(b_formula="0.5"),
    ),
    "(f) happens to be what (i) is": (
        {
            "b": "16 d²",
            "d": "2 h d d_k + 16 d²",
            "e": "18 d²",
            "f": "18 L d²",
            "i": "18 L d²",
        },
        points(b_formula="0.5", d_formula="0.75"),
    ),
    "layers are added in (f) and in (i)": (
        {"f": "n_layers + 12*d_model^2", "i": "n_layers + 20*d_model^2"},
        points(f_formula="0.5"),
    ),
    "layers are added, to a sum of one's own": (
        {"b": "10 d²", "d": f"{ATTENTION} + 10 d²", "e": "14 d²", "f": "14 d² + L", "i": "20 d² + L"},
        points(b_formula="0.5", f_formula="0.5"),
    ),
    "layers are added in (i) alone": ({"i": "20*d_model^2 + n_layers"}, points(i_formula="1")),
    "a sum is wrong in (d), and carried on": (
        {
            "d": "4*n_heads*d_model*d_head + 9*d_model^2",
            "e": "13*d_model^2",
            "f": "13*n_layers*d_model^2",
            "i": "21*n_layers*d_model^2",
        },
        points(d_formula="0.75"),
    ),
    "a sum is wrong in (e), and carried on": (
        {"e": "14*d_model^2", "f": "14*n_layers*d_model^2", "i": "22*n_layers*d_model^2"},
        points(e_formula="1"),
    ),
    "a sum is wrong in brackets": (
        {"d": "n_heads*(3*d_model*d_head + 2*d_head*d_model) + 2*d_model*d_ff"},
        points(d_formula="0.75"),
    ),
    "a sum is wrong beside all biases": (
        {"d": "5*n_heads*d_model*d_head + 3*n_heads*d_head + 8*d_model^2 + 6*d_model"},
        points(d_formula="0.75"),
    ),
    "two numbers are no wrong sum": ({"d": "5 h d d_k + 9 d²"}, points(d_formula="1.5")),
    "a number far off is no wrong sum": ({"e": "120*d_model^2"}, points(e_formula="1.75")),
    "nor is a sign": ({"d": f"{ATTENTION} - 8*d_model^2"}, points(d_formula="1.5")),
    "nor what is not added up": ({"e": f"{ATTENTION} + 9*d_model^2"}, points(e_formula="1.75")),
    "nor what follows from nothing": ({"d": "", "e": "7 d²"}, points(d_formula="1.5", e_formula="1.75")),
    "heads as wide as the model, and carried on": (
        {
            "e": ("d_model = d_head", "8*d_model^2 + 4*n_heads*d_model^2"),
            "f": "n_layers*(8*d_model^2 + 4*n_heads*d_model^2)",
            "i": "n_layers*(16*d_model^2 + 4*n_heads*d_model^2)",
        },
        points(e_assumption="1"),
    ),
    "the quotient upside down, and carried on": (
        {"e": ("d_head = n_heads/d_model", "4*n_heads^2 + 8*d_model^2")},
        points(e_assumption="1"),
    ),
    "a wrong choice of widths, and the right sum": (
        {"e": ("d_head = n_heads*d_model", "12*d_model^2")},
        points(e_assumption="1"),
    ),
    "a sum that fits another choice of widths": (
        {"e": "4*n_heads*d_model^2 + 8*d_model^2"},
        points(e_formula="2"),
    ),
    "the layer is copied, not simplified": ({"e": f"{ATTENTION} + 8*d_model^2"}, points(e_formula="1")),
    "a wrong layer is copied, not simplified": (
        {
            "b": "16*d_model^2",
            "d": f"{ATTENTION} + 16*d_model^2",
            "e": f"{ATTENTION} + 16*d_model^2",
            "f": "20*n_layers*d_model^2",
        },
        points(b_formula="0.5", e_formula="1"),
    ),
}
"""Name of the mistake → the wrong answers, and the points that a fair grader deducts."""


@pytest.mark.slow
@pytest.mark.parametrize("name", MISCONCEPTIONS)
def test_a_mistake_costs_once(name: str) -> None:
    """Later parts that are right for the student's own earlier answers lose nothing."""
    answers, expected = MISCONCEPTIONS[name]
    assert expected == lost(answers)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answers", "item"),
    [
        ({"b": "5", "d": f"{ATTENTION} + 5"}, "d.formula"),
        ({"b": "", "d": f"{ATTENTION} + 16*d_model^2"}, "d.formula"),
        ({"b": "16*(d_model", "d": f"{ATTENTION} + 16*d_model^2"}, "d.formula"),
        ({"b": "16*width^2", "d": f"{ATTENTION} + 16*d_model^2"}, "d.formula"),
        ({"e": "11*d_model^2", "f": "11*d_model^2"}, "f.formula"),
        ({"h": "24*d_model^2", "i": "24*d_model^2"}, "i.formula"),
        ({"h": "24*d_model^2", "i": "16*n_layers*d_model^2"}, "i.formula"),
        ({"h": "1", "i": "n_layers*(4*d_model^2 + 1)"}, "i.formula"),
        ({"b": "16*d_model^2", "d": "16*d_model^2"}, "d.formula"),
        ({"d": "d_model", "e": "d_model"}, "e.formula"),
        ({"d": "7*n_layers", "e": "7*n_layers"}, "e.formula"),
        ({"h": ("(d_model, d_model)", "(d_model, d_model)", "d_model")}, "h.sum"),
        ({"b": "4 d²", "d": f"{ATTENTION} + 4 d²", "e": "8 d²", "f": "8 L d²", "i": "8 L d²"}, "i.formula"),
        ({"b": "5 d", "h": "5 d"}, "h.sum"),
        ({"e": ("d_head = d_head", "4*n_heads*d_model*d_head + 9*d_model^2")}, "e.formula"),
        ({"e": ("d_head = 3", "12*n_heads*d_model + 8*d_model^2")}, "e.formula"),
    ],
)
def test_what_is_not_derived_is_not_right(answers: Answers, item: str) -> None:
    """Numbers, blank or unreadable answers, and copies of an earlier answer are not accepted as carried."""
    found = graded(answers)[item]
    assert (Status.FAILED, True) == (found.status, 2 * found.points <= found.possible)
    assert found.code != CARRIED


@pytest.mark.parametrize(
    ("written", "earned"),
    [
        (["text simplification", "rephrasing"], "1"),
        (["Leichte Sprache", "style transfer of e-mails"], "1"),
        (["generating headlines", "code generation from comments"], "1"),
        (["rephrasing", "paraphrase"], "0.5"),
        (["chatbots", "language detection"], "0.5"),
        (["recognition of spam", "image recognition"], "0"),
    ],
)
def test_tasks_are_known_by_everyday_names(written: list[str], earned: str) -> None:
    """Task 1 (b) accepts everyday names of tasks without manual review."""
    found = marks("task1-b", f"sequence_tasks = {written!r}")["tasks"]
    assert (Decimal(earned), False) == (found.points, found.status is Status.NEEDS_REVIEW)


@pytest.mark.parametrize(
    ("way", "earned"), [("fine-tuning", "0.5"), ("pre-training", "0"), ("one-shot", "0")]
)
@pytest.mark.parametrize("written", ["some or all", "all or some", "alle oder einige"])
def test_two_answers_of_which_either_will_do_may_both_be_given(way: str, earned: str, written: str) -> None:
    """In task 2 (d), the two accepted answers may be combined, but only for fine-tuning."""
    assert Decimal(earned) == marks("task2-d", f"changes = { ({way: written})!r}")[f"{way}-changes"].points


def test_attention_is_said_to_be_forgotten_only_after_a_right_mlp() -> None:
    """In (i), the message "attention-forgotten" requires that (h) is right or agrees with (i)."""
    assert "attention-forgotten" == graded({"i": "16 L d²"})["i.formula"].code
    assert "attention-forgotten" == graded({"h": "24 d²", "i": "24 L d²"})["i.formula"].code
    assert "attention-forgotten" != graded({"h": "24 d²", "i": "16 L d²"})["i.formula"].code


def test_a_sum_of_ones_own_is_not_blamed_on_the_mlp() -> None:
    """In (e), 8·d² is right if (d) counts half an MLP; otherwise the message names both possible causes."""
    own = graded({"b": "4 d²", "d": "4 h d d_k + 4 d²", "e": "8 d²"})["e.formula"]
    assert (Status.PASSED, CARRIED) == (own.status, own.code)
    other = graded({"e": "8 d²"})["e.formula"]
    assert "attention and the whole MLP" in other.student.text["en"]


@pytest.mark.parametrize(
    ("own", "written"),
    [pytest.param("12 d", "12 d", id="square lost"), pytest.param("7 d²", "7 d²", id="wrong number")],
)
def test_the_mlp_of_ones_own_is_not_said_to_be_half_of_the_layer(own: str, written: str) -> None:
    """In (e), the message about 8·d² is also true if the student's own MLP is wrong."""
    found = graded({"b": own, "e": written})["e.formula"]
    assert ("attention-missing", Decimal("0.4")) == (found.code, found.points)
    assert "half" not in found.student.text["en"]


def test_all_biases_of_a_layer_without_the_matrices_are_worth_nothing() -> None:
    """In (d) and (e), all bias terms together, which are optional, earn nothing without the matrices."""
    assert Decimal(0) == graded({"d": "3 h d_k + 6 d"})["d.formula"].points
    assert Decimal(0) == graded({"e": "9 d"})["e.formula"].points


@pytest.mark.parametrize("part", ["b", "d", "e", "f", "h", "i"])
@pytest.mark.parametrize("written", ["0", "d - d", "d", "4 d", "5 d", "L d", "9 L d", "3 h d_k"])
def test_biases_alone_and_nothing_at_all_are_worth_nothing(part: str, written: str) -> None:
    """Optional terms alone, and zero, earn no partial credit."""
    item = "h.sum" if part == "h" else f"{part}.formula"
    assert Decimal(0) == graded({part: written})[item].points


def test_what_is_not_simplified_used_no_relation_that_is_not_assumed() -> None:
    """In (e), the message says that the width of the hidden layer is left in the formula."""
    found = graded({"e": "4*d_model^2 + 2*d_model*d_ff"})["e.formula"]
    assert ("form.without", Decimal(1)) == (found.code, found.points)
    assert Status.PASSED is graded({"f": "n_layers*(4*d_model^2 + 2*d_model*d_ff)"})["f.formula"].status


def test_all_parts_are_worth_what_the_heading_says() -> None:
    """The points of task 3 in the rubric add up to the 20 of its heading."""
    total = sum(one.possible for one in graded({}).values())
    manual = sum(
        item.points
        for question in exam().questions
        if question.task == "3"
        for item in question.items
        if item.manual
    )
    assert (Decimal(20), total) == (total + manual, sum(one.points for one in graded({}).values()))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "7*n_voc",
        "7*d_model^3",
        "3*n_layers",
        "d_model + 5*n_heads",
        "sqrt(n_heads)",
        "d_model^2*n_layers*n_heads",
    ],
)
def test_the_same_nonsense_everywhere_earns_nothing(text: str) -> None:
    """The same unrelated formula in all parts earns nothing, although the parts agree with each other."""
    formulas = ("a", "b", "c", "d", "e", "f", "i")
    found = graded(dict.fromkeys(formulas, text) | {"h": text})
    got = {name: result.points for name, result in found.items() if result.reading}
    asked = {f"{part}.formula" for part in formulas} | {"h.sum"}
    assert {} == {name: value for name, value in got.items() if name in asked and value}
