"""Test answer keys: right answers, named mistakes and diagnoses."""

from __future__ import annotations

import pytest

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided
from autograder.formulas.notation.formula_lists import parse_single
from autograder.formulas.notation.parse import parse, parse_tuple
from autograder.formulas.values.points import Points
from autograder.messages import load_sentences
from autograder.questions.formula.answer_key import NamedAnswer
from tests.formulas.examples import VOCABULARY
from tests.formulas.verdicts import JudgingKey, Verdict

RAW = Comparer(Points(VOCABULARY.domains, b"a test"))
HEADS = RAW.with_assumptions([parse_single("d_model = n_heads*d_head", VOCABULARY)])
LAYER = "3*n_heads*d_model*d_head + n_heads*d_head*d_model + 8*d_model^2"


def key(right: str, *mistakes: tuple[str, str, tuple[Comparer, ...]]) -> JudgingKey:
    """Return a key for one right answer, read without assumptions, with named mistakes."""
    named = [NamedAnswer(code, parse(when, VOCABULARY), readings) for code, when, readings in mistakes]
    return JudgingKey([parse(right, VOCABULARY)], [RAW], named, beyond=HEADS)


def verdict(answers: JudgingKey, text: str) -> Verdict:
    """Return the verdict on a text."""
    return answers.verdict(parse(text, VOCABULARY))


@pytest.mark.parametrize(
    ("right", "wrong", "code"),
    [
        ("8*d^2", "4*d^2", "factor-too-small"),
        ("8*d^2", "16*d^2", "factor-too-large"),
        ("8*d^2", "-8*d^2", "sign"),
        ("8*d^2", "8*d", "power-too-small"),
        ("8*d^2", "8*d^3", "power-too-large"),
        ("12*n_layers*d^2", "12*d^2", "factor-forgotten"),
        ("12*n_layers*d^2", "12*n_layers^2*d^2", "power-too-large"),
        ("12*n_layers*d^2", "24*n_layers^2*d^2", "several-factors"),
        ("d*h", "d+h", "sum-for-product"),
        ("n^2*d", "n*d^2", "swapped-symbols"),
        ("8*d^2", "8*d^2 + n_voc", "extra-term"),
        (LAYER, "3*n_heads*d_model*d_head + 8*d_model^2", "missing-term"),
        (LAYER, "4*n_heads*d_model*d_head", "missing-term"),
        (LAYER, "4*n_heads*d_model*d_head + 8*d_model", "power-in-term"),
        (LAYER, "2*n_heads*d_model*d_head + 8*d_model^2", "coefficient"),
        (LAYER, "4*n_heads*d_model*d_head + n*d_model^2", "part-replaced"),
        (LAYER, f"{LAYER} + n_voc*d_model", "extra-term"),
        ("n_layers*(4*d^2 + 16*d^2)", "n_layers*4*d^2 + 16*d^2", "brackets"),
    ],
)
def test_single_misconceptions_are_named(right: str, wrong: str, code: str) -> None:
    """A single misconception is recognised, and its code has a message."""
    difference = verdict(key(right), wrong).difference
    assert difference is not None
    assert code == difference.code
    assert difference.sentence in load_sentences()


def test_the_student_reads_nothing_of_the_right_answer() -> None:
    """The message about a misconception names only symbols and the student's terms."""
    answers = key(LAYER)
    missing = verdict(answers, "3*n_heads*d_model*d_head + 8*d_model^2").difference
    extra = verdict(answers, f"{LAYER} + 7*n_voc").difference
    assert missing is not None
    assert extra is not None
    assert missing.params == {}
    assert extra.params == {"term": "7*n_voc"}


def test_unrelated_formulas_have_no_diagnosis() -> None:
    """A formula without relation to the right one has no diagnosis."""
    assert Verdict(right=False) == verdict(key(LAYER), "n_heads^7*d_head + d_model*d_head/(n_heads + 1)")


def test_the_first_named_mistake_that_fits_is_reported() -> None:
    """If several mistakes coincide, the first one in the rubric is reported."""
    answers = key(
        LAYER,
        ("forgot-the-output", "3*n_heads*d_model*d_head + 8*d_model^2", (RAW,)),
        ("early", "12*d_model^2", (RAW, HEADS)),
        ("eleven", "11*d_model^2", (RAW, HEADS)),
    )
    assert verdict(answers, "3*h*d_k*d + 8*d^2").named == 0
    assert verdict(answers, "12*d_model^2").named == 1
    assert verdict(answers, "12*h^2*d_k^2").named == 1
    assert verdict(answers, "11*d^2").named == 2
    assert verdict(answers, "4*h*d_k*d + 8*d^2").right


def test_an_assumption_used_early_is_noticed() -> None:
    """An answer that is right only under an assumption that is not granted is wrong with that reason."""
    assert Verdict(right=False, early=True) == verdict(key(LAYER), "12*d_model^2")


def test_remarks_come_before_assumptions() -> None:
    """A right answer with a remark is found even if an assumption makes it equal to the main one."""
    answers = JudgingKey(
        [parse("n_heads*d_head*d_model", VOCABULARY)],
        [RAW, HEADS],
        [NamedAnswer("early", parse("d_model^2", VOCABULARY), (RAW,), right=True)],
    )
    assert Verdict(right=True) == verdict(answers, "h*d_k*d")
    assert Verdict(right=True, named=0) == verdict(answers, "d*d")
    assert Verdict(right=True) == verdict(answers, "(h*d_k)^2")


def test_formulas_without_exact_values_are_compared_one_by_one() -> None:
    """Named mistakes with logarithms and roots are found by comparing them one by one."""
    answers = key("n*log(n)", ("base", "n*lg(n)", (RAW,)), ("root", "n*sqrt(n)", (RAW,)))
    assert verdict(answers, "log(n^n)").right
    assert verdict(answers, "n*log(n)/log(10)").named == 0
    assert verdict(answers, "n^(3/2)").named == 1


def test_relations_and_tuples_have_keys() -> None:
    """Equations and shapes are looked up in the same way as formulas."""
    relations = JudgingKey(
        [parse_single("d_model = n_heads*d_head", VOCABULARY)],
        [RAW],
        [NamedAnswer("equal-widths", parse_single("d_head = d_model", VOCABULARY), (RAW,))],
    )
    assert relations.verdict(parse_single("d_head = d/h", VOCABULARY)).right
    assert relations.verdict(parse_single("d/d_k = 1", VOCABULARY)).named == 0
    shapes = JudgingKey(
        [parse_tuple("(3*d, 4*d)", VOCABULARY)],
        [RAW],
        [NamedAnswer("transposed", parse_tuple("(4*d, 3*d)", VOCABULARY), (RAW,))],
    )
    assert shapes.verdict(parse_tuple("3d × 4d", VOCABULARY)).right
    assert shapes.verdict(parse_tuple("4d × 3d", VOCABULARY)).named == 0
    assert Verdict(right=False) == shapes.verdict(parse_tuple("(1, 2)", VOCABULARY))


def test_doubt_remains_doubt() -> None:
    """An undecided comparison stays undecided if it is repeated."""
    facts = JudgingKey([parse("d", VOCABULARY)], [RAW]).make_facts(parse("exp(exp(exp(exp(d))))", VOCABULARY))
    for _ in range(2):
        with pytest.raises(Undecided):
            facts.is_right(strictly=True)
