"""What holds for every kind: `judge` is total, its results keep the rules, and sentences exist."""

from __future__ import annotations

import ast
import re
import string
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import autograder
from autograder.checks import make_check
from autograder.checks.base import Check, Draw, Evidence
from autograder.messages import LANGUAGES, SENTENCES, checks, render
from autograder.records import Answer, Ending, ItemResult, Observation, Opaque, Ref, Status, Tensor
from autograder.rubric import Rubric, load
from tests.test_docs_rubric import EXAMPLES, rubric_of

DRAW = Draw(b"any")
RUBRICS = Path(__file__).parents[2] / "rubrics"


def _checks() -> list[tuple[Rubric, Check]]:
    """A check of every question on the documentation page and of the course's own rubrics."""
    rubrics = [rubric_of(example) for example in EXAMPLES] + [
        load(path) for path in sorted(RUBRICS.glob("*.toml"))
    ]
    return [(rubric, make_check(question, rubric)) for rubric in rubrics for question in rubric.questions]


CHECKS = _checks()
NAMES = [f"{check.kind} {number}" for number, (_, check) in enumerate(CHECKS)]

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(1 << 3000, 1 << 3001),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["yes", "a", "fp16", "(8, 12, 128, 128)", "124,439,808", "\ud800", "{what}", "x" * 5000]),
)
ARRAYS = st.sampled_from(
    [
        np.array(3),
        np.array([0.245, 0.665, 0.09]),
        np.array([np.nan, np.inf, -np.inf]),
        np.zeros((2, 2, 5, 4)),
        np.zeros((0, 3)),
        np.array(["text"]),
        np.array([1 + 2j]),
        np.array([1, 1 << 62], "uint64"),
        np.array(1e300),
        np.array([None], object),
        np.array("2024-01-01", "datetime64[D]"),
    ]
)
LEAVES = st.one_of(
    SCALARS,
    ARRAYS,
    st.builds(
        Tensor, ARRAYS, st.sampled_from(["float32", "bfloat16", "int64", "", "nonsense"]), st.just("cuda:1")
    ),
    st.builds(Opaque, st.text(max_size=5)),
    st.builds(Ref, st.text(max_size=5)),
    st.just(Tensor("not an array", "float32")),  # type: ignore[arg-type]
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.one_of(st.text(max_size=3), st.integers(), st.just("wpe")), inner, max_size=3),
    ),
    max_leaves=8,
)
OBSERVATIONS = st.one_of(
    st.builds(Observation, st.just(True), VALUES),
    st.builds(
        Observation,
        st.just(False),
        st.none(),
        st.sampled_from(["", "Skipped", "NameError", "ValueError", "TypeError", "NotImplementedError"]),
        st.text(max_size=30),
    ),
    st.builds(Observation, st.just(False), st.none(), ending=st.sampled_from(list(Ending))),
)
SOURCES = st.one_of(
    st.sampled_from(["", "x = f()", "total = 124_439_808", "answer = 'yes'", "def f(:", "\x00", "%time f()"]),
    st.text(max_size=30),
)


def _keeps_the_rules(rubric: Rubric, results: tuple[ItemResult, ...]) -> None:
    question = rubric.question(results[0].question)
    assert [item.id for item in question.items] == [one.item for one in results]
    for item, one in zip(question.items, results, strict=True):
        assert item.points == one.possible
        assert Decimal(0) <= one.points <= item.points
        if one.status is Status.PASSED:
            assert item.points == one.points
        if one.status in (Status.NO_ANSWER, Status.NEEDS_REVIEW):
            assert Decimal(0) == one.points
        for language in LANGUAGES:
            assert render(one.student, language) != ""


@pytest.mark.parametrize(("rubric", "check"), CHECKS, ids=NAMES)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(data=st.data())
def test_judging_is_total(rubric: Rubric, check: Check, data: st.DataObject) -> None:
    """Any observations of any form give one result per item that keeps the rules; nothing is raised."""
    scenarios = st.lists(OBSERVATIONS, max_size=9).map(tuple)
    evidence = Evidence(
        Answer(
            "q-answer", data.draw(st.sampled_from(["code", "markdown"])), data.draw(SOURCES), changed=True
        ),
        data.draw(st.lists(scenarios, max_size=6)),
        data.draw(st.lists(scenarios, max_size=4)),
        draw=data.draw(st.sampled_from([None, DRAW])),
    )
    check.plan(evidence.answer, DRAW)
    _keeps_the_rules(rubric, check.judge(evidence))


@pytest.mark.parametrize(("rubric", "check"), CHECKS, ids=NAMES)
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(data=st.data())
def test_any_values_from_a_whole_plan(rubric: Rubric, check: Check, data: st.DataObject) -> None:
    """A run that answers every call, with anything, is judged by the rules as well."""
    given_answer = Answer("q-answer", "code", "x = f()", changed=True)

    some = data.draw(st.lists(VALUES, min_size=1, max_size=6))  # a plan may have a hundred scenarios

    def answers(calls: int) -> tuple[Observation, ...]:
        one = data.draw(st.sampled_from(some))
        return tuple(Observation(ok=True, value=one) for _ in range(calls))

    observed = [answers(len(scenario.calls)) for scenario in check.plan(given_answer, DRAW)]
    expected = [answers(len(scenario.calls)) for scenario in check.reference_plan(DRAW)]
    _keeps_the_rules(rubric, check.judge(Evidence(given_answer, observed, expected, draw=DRAW)))


@pytest.mark.parametrize(
    "huge", [10**5000, [10**5000, 1], {"wpe": -(10**5000)}, ("fp16", 10**5000)], ids=type
)
@pytest.mark.parametrize(("rubric", "check"), CHECKS, ids=NAMES)
def test_integers_that_python_does_not_print(rubric: Rubric, check: Check, huge: object) -> None:
    """An integer beyond Python's limit for printing is judged like any other wrong answer."""
    given_answer = Answer("q-answer", "code", "x = f()", changed=True)
    one = Observation(ok=True, value=huge)
    observed = [(one,) * len(scenario.calls) for scenario in check.plan(given_answer, DRAW)]
    _keeps_the_rules(rubric, check.judge(Evidence(given_answer, observed, observed, draw=DRAW)))


@pytest.mark.parametrize(("rubric", "check"), CHECKS, ids=NAMES)
def test_an_untouched_cell_earns_nothing(rubric: Rubric, check: Check) -> None:
    """The released stub has no plan and no points, and automatic items are NO_ANSWER."""
    stub = Answer("q-answer", "code", "# YOUR CODE HERE\nraise NotImplementedError()", changed=False)
    results = check.judge(Evidence(stub, ()))
    assert () == check.plan(stub, DRAW)
    assert Decimal(0) == sum(one.points for one in results)
    question = rubric.question(results[0].question)
    automatic = [one.status for one, item in zip(results, question.items, strict=True) if not item.manual]
    assert [Status.NO_ANSWER] * len(automatic) == automatic


def _placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("code", sorted(checks.SENTENCES))
def test_every_sentence_is_in_every_language(code: str) -> None:
    """Both languages are there and use the same placeholders."""
    texts = checks.SENTENCES[code]
    assert set(LANGUAGES) == set(texts)
    assert _placeholders(texts["en"]) == _placeholders(texts["de"])


def test_every_ending_has_a_sentence() -> None:
    """Each way a box can end is explained."""
    assert [] == [ending for ending in Ending if f"ending.{ending.value}" not in SENTENCES]


def _codes_in_source() -> set[str]:
    """Every text in the source of the checks and the scoring that looks like a code of the vocabulary."""
    folder = Path(autograder.__file__).parent
    elsewhere = {"repair", "symbolic"}  # these have vocabularies of their own
    own = {path for path in (folder / "checks").rglob("*.py") if path.parent.name not in elsewhere}
    areas = "|".join(sorted({re.escape(code.partition(".")[0]) for code in checks.SENTENCES if "." in code}))
    found: set[str] = set()
    for path in (*own, folder / "grading" / "scoring.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= set(re.findall(rf"^(?:{areas})\.[a-z-]+$", node.value))
    return found


def test_code_and_vocabulary_agree() -> None:
    """Every code in the source has a sentence, and every sentence with a dot is used."""
    dotted = {code for code in checks.SENTENCES if "." in code and not code.startswith("ending.")}
    used = _codes_in_source()
    assert set() == used - set(checks.SENTENCES)
    assert set() == dotted - used
