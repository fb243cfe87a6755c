"""A model that returns another form of its result is judged by what its last module gave."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from autograder.checks.base import Draw, Evidence
from autograder.errors import RubricError
from autograder.kinds.general.debugging import inside
from autograder.kinds.general.debugging.inside import as_asked, of_last_module
from autograder.records import Answer, Call, Observation, Ref, Scenario, Status
from autograder.sandbox.pool import Pool
from tests.support.debugging_course import DebuggingCourse

SOURCE = '''
import torch
from torch import nn


class Net(nn.Module):
    """A sum over places, scaled, shifted and squashed, and a head."""

    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        x = x.sum(1)
        x = self.first(x)
        x = x * 2
        x = torch.tanh(x)
        return self.head(x)
'''
HEAD = """
[[question]]
id = "net"
kind = "debugging"
points = 4
answer = "Net"
reference = "net:Net"
tries = 2
stir = true
compare = { rtol = 1e-4, atol = 1e-5 }
construct = { args = [4] }
last_module = "head"
"""
FIRST = """
[[question.use]]
name = "all"
step = [{ args = [{ draw = "normal", shape = [2, 3, 4] }] }]
"""
USE = """
[[question.use]]
name = "by {about}"
about = "{about}"
further = true
let = {{ x = {{ draw = "normal", shape = [2, 3, 4] }} }}
relate = [[1, 2], [3, 4]]
step = [
  {{ of = "x", method = "{method}", args = [{args}], keep = "last" }},
  {{ args = [{{ kept = "x" }}], keep = "y" }},
  {{ args = [{{ kept = "last" }}], keep = "z" }},
  {{ of = "y", method = "narrow", args = [1, 0, 1], keep = "one" }},
  {{ of = "z", method = "narrow", args = [1, 0, 1], keep = "other" }},
  {{ of = "one", method = "clone", args = [] }},
  {{ of = "other", method = "clone", args = [] }},
  {{ of = "y", method = "neg", args = [] }},
  {{ of = "z", method = "clone", args = [] }},
]
"""
USES = "".join(
    USE.format(about=about, method=method, args=args)
    for about, method, args in (("places", "flip", "1"), ("twice", "mul", "1e6"), ("tanh", "mul", "1e9"))
)
ITEM = """
[[question.item]]
id = "{}"
points = 1
text = {{ en = "x" }}
edit = [{{ right = "{}", faulty = "{}" }}]
"""
ITEMS = "".join(
    ITEM.format(*one)
    for one in (
        ("places", "x.sum(1)", "x[:, 0]"),
        ("twice", "x * 2", "x"),
        ("tanh", "torch.tanh(x)", "torch.relu(x)"),
        ("head", "return self.head(x)", "return x"),
    )
)


@pytest.fixture(scope="module")
def course(pool: Pool, tmp_path_factory: pytest.TempPathFactory) -> DebuggingCourse:
    """Four faults, the last one of which is the form of what is returned."""
    return DebuggingCourse(
        tmp_path_factory.mktemp("inside") / "course", pool, HEAD + FIRST + USES + ITEMS, SOURCE
    )


def returning(words: str, *planted: tuple[str, str]) -> str:
    """The right listing with another last line, and with faults."""
    source = SOURCE
    for old, new in (("return self.head(x)", words), *planted):
        assert old in source
        source = source.replace(old, new)
    return source


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "words",
    [
        "return self.head(x).argmax(-1)",
        "return self.head(x), x",
        "return {'scores': self.head(x)}",
        "return self.head(x).max(-1)",
        "return self.head(x).sum()",
    ],
)
def test_another_form_costs_that_fault_alone(course: DebuggingCourse, words: str) -> None:
    """The others are judged exactly, right ones and faulty ones, and staff read by what."""
    right = course.sit(returning(words))
    assert {"head"} == {name for name, one in right.items() if one.status is Status.FAILED}
    assert 3 == sum(one.status is Status.PASSED for one in right.values())
    assert "another form than what the last module gives" in right["head"].staff
    assert "the other faults are judged by that" in right["places"].remark
    faulty = course.sit(returning(words, ("x.sum(1)", "x[:, 0]"), ("torch.tanh(x)", "torch.relu(x)")))
    assert {"head", "places", "tanh"} == {name for name, one in faulty.items() if one.status is Status.FAILED}
    assert faulty["twice"].status is Status.PASSED


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "words", ["return self.nothing(x)", "return None if x.sum() > 1e9 else self.head(x)[5]", "1 / 0"]
)
def test_code_that_raises_or_gives_nothing_is_no_other_form(course: DebuggingCourse, words: str) -> None:
    """No fault is won by it and none is lost."""
    results = course.sit(returning(words))
    assert {Status.NEEDS_REVIEW} == {results[name].status for name in ("places", "twice", "tanh")}


@pytest.mark.sandbox
def test_a_last_module_that_was_not_looked_at_costs_nothing(course: DebuggingCourse) -> None:
    """As where the time is used up: then nobody knows whether there is another form, or code that raises."""
    chosen, raised = course.search, (Observation(ok=False, error="AttributeError"),)
    evidence = Evidence(
        Answer("a", "code", "code", changed=True),
        [(Observation(ok=True),) * 4],
        again=[raised] * len(chosen.asked_first),
        named=course.named,
        draw=Draw(bytes(32)),
    )
    while further := course.check.further_calls(evidence):
        within = len(further) == len(chosen.probes)
        evidence = msgspec.structs.replace(
            evidence, again=[*evidence.again, *[() if within else raised] * len(further)]
        )
    assert len(evidence.again) > len(chosen.probes)
    assert {Status.NEEDS_REVIEW} == {one.status for one in course.check.judge(evidence)}


@pytest.mark.sandbox
def test_a_model_without_modules_goes_to_a_person(course: DebuggingCourse) -> None:
    """There is no last one."""
    source = SOURCE.replace("nn.Linear(width, width)", "nn.Parameter(torch.randn(width, width))")
    source = source.replace("nn.Linear(width, 3)", "nn.Parameter(torch.randn(width, 3))")
    source = source.replace("self.first(x)", "x @ self.first").replace(
        "return self.head(x)", "return (x @ self.head).argmax(-1)"
    )
    results = course.sit(source)
    assert {"places", "twice", "tanh"} <= {
        name for name, one in results.items() if one.status is Status.NEEDS_REVIEW
    }


@pytest.mark.sandbox
def test_what_comes_behind_the_last_module_goes_to_a_person(course: DebuggingCourse) -> None:
    """A head without a module: the last one gives what lacks more than the head."""
    words = "return nn.functional.linear(x, self.head.weight, self.head.bias).argmax(-1)"
    results = course.sit(returning(words))
    assert not [one for one in results.values() if one.status is Status.FAILED]
    assert {"places", "twice", "tanh"} <= {
        name for name, one in results.items() if one.status is Status.NEEDS_REVIEW
    }


@pytest.mark.sandbox
def test_verify_plants_another_form(course: DebuggingCourse, pool: Pool, tmp_path: Path) -> None:
    """Where the right listing returns another thing than its last module gives, it is not judged so."""
    trial = course.check.trials(Answer("a", "code", SOURCE, changed=True))[-1]
    assert ("another form", ("head",)) == (trial.family, trial.loses)
    assert {"head"} == {
        name for name, one in course.sit(trial.source).items() if one.status is not Status.PASSED
    }
    scaled = [text.replace("return self.head(x)", "return 3 * self.head(x)") for text in (ITEMS, SOURCE)]
    other = DebuggingCourse(tmp_path / "scaled", pool, HEAD + FIRST + USES + scaled[0], scaled[1])
    trial = other.check.trials(Answer("a", "code", scaled[1], changed=True))[-1]
    assert {"places", "twice", "tanh"} & {
        name for name, one in other.sit(trial.source).items() if one.status is Status.NEEDS_REVIEW
    }


@pytest.mark.sandbox
def test_nothing_is_asked_within_where_the_form_is_right(
    course: DebuggingCourse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code in other words costs no more than before; another form is asked each probe once more."""
    asked: list[Scenario] = []

    def noted(scenario: Scenario) -> Scenario:
        asked.append(scenario)
        return of_last_module(scenario)

    monkeypatch.setattr(inside, "of_last_module", noted)
    course.sit(returning("return self.head(x) * 3"))
    assert [] == asked
    course.sit(returning("return self.head(x).argmax(-1)") + "# mine\n")
    assert len(course.search.probes) == len(asked)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ('"head"\n', '"haed"\n', "no fault 'haed'; known: places, twice, tanh, head"),
        ("construct = { args = [4] }\n", "", "a function has no modules; last_module needs construct"),
        ('about = "tanh"', 'about = "twice"', "last_module needs uses about 3 faults or more"),
    ],
)
def test_what_cannot_be_is_refused(pool: Pool, tmp_path: Path, right: str, wrong: str, message: str) -> None:
    """A fault that nobody planted, a function."""
    question = (HEAD + FIRST + USES).replace(right, wrong) + ITEMS
    with pytest.raises(RubricError, match=message):
        DebuggingCourse(tmp_path / message[:8], pool, question, SOURCE)


def test_observations_stand_for_the_calls_they_were_asked_for() -> None:
    """What fails on the way to the last module is the failure of the call; what ends early stays short."""
    model = Ref("model")
    plain = Scenario(
        "s", (Call("Net", keep="model"), Call(model, args=(1,), keep="y"), Call(Ref("y"), "sum"))
    )
    asked = of_last_module(plain)
    good = [Observation(ok=True, value=at) for at in range(len(asked.calls))]
    found = as_asked(plain, good)
    assert 3 == len(found)
    assert [good[4].value, good[-2].value, good[-1].value] == [one.value for one in found]
    failed = good.copy()
    failed[6] = Observation(ok=False, error="TypeError")
    assert [True, False, True] == [one.ok for one in as_asked(plain, failed)]
    assert 1 == len(as_asked(plain, good[:8]))
    assert 0 == len(as_asked(plain, good[:2]))
    reads = Scenario("s", (Call(model, "first", read=True), Call(model, "train", keep="z")))
    assert reads.calls == of_last_module(reads).calls
