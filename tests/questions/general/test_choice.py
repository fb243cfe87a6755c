"""Test ticks, multiple choice and closed lists in different notations."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.core.errors import RubricError
from autograder.core.records import ItemResult, OpaqueValue, Status
from autograder.messages import render_message
from autograder.questions import make_check
from autograder.questions.base.base import Evidence
from autograder.rubric import parse_rubric
from tests.questions.base.asking import DRAW, answer, check_of, judge, value

TICK = """
[[question]]
id = "q"
kind = "choice"
points = 2
answer = "change"
preset = "yes-no"
[[question.item]]
id = "tick"
points = 1
text = { en = "Do they change?" }
right = ["no"]
[[question.item.mistake]]
code = "softmax-shift"
when = "yes"
text = { en = "What does softmax do with a constant?" }
[[question.item]]
id = "why"
points = 1
manual = true
text = { en = "Reason" }
cell = "q-why"
"""
SEVERAL = """
[[question]]
id = "q"
kind = "choice"
points = 2
answer = "chosen"
[[question.option]]
id = "a"
aliases = ["learned positions"]
[[question.option]]
id = "b"
[[question.option]]
id = "c"
[[question.option]]
id = "d"
[[question.item]]
id = "options"
points = 2
text = { en = "All that apply" }
right = ["a", "c"]
credit = "each"
"""
LIST = """
[[question]]
id = "q"
kind = "choice"
points = 1
answer = "arguments"
names = ["learning_rate", "fp16", "gradient_checkpointing", "eval_accumulation_steps"]
unknown = { en = "{name} is not an argument of the trainer." }
[[question.item]]
id = "names"
points = 1
text = { en = "Two" }
right = ["fp16", "gradient_checkpointing"]
pick = 2
others = "wrong"
[[question.item.mistake]]
code = "evaluation-only"
when = "eval_accumulation_steps"
points = 0.25
text = { en = "Only during evaluation." }
"""


@pytest.mark.parametrize(
    "written", ["'no'", "'No.'", "'NEIN'", "False", "['no']", "'\"nein\"'", "{'no': True}"]
)
def test_notations_of_no(written: str) -> None:
    """The word "no" is read in two languages, as a bool, quoted and in a list."""
    check = check_of(TICK)
    source = f"change = {written}"
    observed = [value({"no": True})] if check.plan_calls(answer(source)) else []
    tick = judge(check, source, observed)[0]
    assert (Status.PASSED, Decimal(1)) == (tick.status, tick.points)


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("'yes'", "softmax-shift"),
        ("True", "softmax-shift"),
        ("'maybe'", "review.person"),
        ("['yes', 'no']", "choice.wrong"),
        ("3.5", "choice.form"),
        ("''", "no-answer"),
        ("[]", "no-answer"),
        ("None", "value.none"),
    ],
)
def test_other_ticks(written: str, code: str) -> None:
    """A wrong tick is named, both ticks are no choice, and an empty value is no answer."""
    (tick, _) = judge(check_of(TICK), f"change = {written}")
    assert (code, Decimal(0)) == (tick.code, tick.points)


def test_a_text_cell_can_be_a_choice() -> None:
    """A choice can be answered in a markdown cell."""
    check = check_of(TICK.replace('answer = "change"\n', ""))
    given_answer = answer("**Nein**", cell_type="markdown")
    assert () == check.plan_calls(given_answer)
    assert Status.PASSED == judge(check, given_answer)[0].status


@pytest.mark.parametrize(
    ("written", "points", "code"),
    [
        ("['a', 'c']", "2", ""),
        ("'c, a'", "2", ""),
        ("'A and C'", "2", ""),
        ("'learned positions; c'", "2", ""),
        ("['a', 'a', 'c']", "2", ""),
        ("['a']", "1", "choice.some"),
        ("['a', 'b']", "0", "choice.some"),
        ("['a', 'b', 'c']", "1", "choice.some"),
        ("['b', 'd']", "0", "choice.some"),
        ("['a', 'b', 'c', 'd']", "0", "choice.some"),
        ("['a', 'c', 'x']", "0", "review.person"),
    ],
)
def test_parts_of_several(written: str, points: str, code: str) -> None:
    """Wrong options are subtracted from right ones, never below zero; ticking everything earns nothing."""
    (item,) = judge(check_of(SEVERAL), f"chosen = {written}")
    assert (Decimal(points), code) == (item.points, item.code)


@pytest.mark.parametrize(
    ("written", "points", "code"),
    [
        ("['fp16', 'gradient_checkpointing']", "1", ""),
        ("'gradient_checkpointing=True, --fp16'", "1", ""),
        ("['Gradient-Checkpointing', 'fp16=True']", "1", ""),
        ("['fp16']", "0.5", "choice.fewer"),
        ("['fp16', 'fp16']", "0.5", "choice.fewer"),
        ("['fp16', 'learning_rate']", "0.5", "choice.entry"),
        ("['fp16', 'eval_accumulation_steps']", "0.75", "evaluation-only"),
        ("['fp16', 'save_memory']", "0.5", "choice.unknown"),
        ("['learning_rate', 'save_memory', 'fp16', 'gradient_checkpointing']", "0", "choice.entry"),
    ],
)
def test_a_closed_list(written: str, points: str, code: str) -> None:
    """Only the first two different names of a closed list count."""
    (item,) = judge(check_of(LIST), f"arguments = {written}")
    assert (Decimal(points), code) == (item.points, item.code)


def test_an_unknown_name_is_named_in_the_rubrics_words() -> None:
    """The rubric's sentence for unknown names shows the name that the student wrote."""
    (item,) = judge(check_of(LIST), "arguments = ['save_memory', 'fp16']")
    assert "save_memory is not an argument of the trainer." == render_message(item.student, "en")


@pytest.mark.parametrize(
    "answer_value", [OpaqueValue("set"), 1.5, [object()], {"a": 1}.items(), [[1]], 1 << 9000]
)
def test_what_is_no_choice_is_refused(answer_value: object) -> None:
    """Values that are not names earn nothing and raise no exception."""
    (item,) = judge(check_of(SEVERAL), "chosen = f()", [value(answer_value)])
    assert (Status.FAILED, "choice.form") == (item.status, item.code)


@pytest.mark.parametrize(
    ("question", "change", "message"),
    [
        (SEVERAL, ('right = ["a", "c"]', 'right = ["a", "e"]'), "no option 'e'"),
        (SEVERAL, ('right = ["a", "c"]', "right = []"), "at least one option"),
        (SEVERAL, ('id = "b"', 'id = "Learned-Positions"'), "stands for two options"),
        (SEVERAL, ("points = 2", "points = 2.01"), "cannot be divided"),
        (LIST, ("pick = 2", "pick = 3"), "3 are wanted, but 2"),
        (LIST, ("{name} is", "{nam} is"), "the only placeholder"),
        (LIST, ("points = 0.25", "points = 0.75"), "one entry is worth at most 0.5"),
        (TICK, ('"yes-no"', '"yesno"'), "yesno"),
    ],
)
def test_errors_in_a_choice_rubric_are_named(question: str, change: tuple[str, str], message: str) -> None:
    """Unknown or indistinguishable options are rejected."""
    with pytest.raises(RubricError, match=message):
        check_of(question.replace(*change))


CAUSES = """version = 1
[assignment]
name = "test"
points = 2
""" + "".join(
    f"""
[[question]]
id = "{part}"
kind = "choice"
points = 1
answer = "{part}_cause"
option = [{{ id = "rare" }}, {{ id = "outdated", aliases = ["old data"] }}, {{ id = "luck" }}]
[[question.item]]
id = "cause"
points = 1
text = {{ en = "The cause" }}
right = ["rare"]
pick = 1
{rule}
"""
    for part, rule in (("d", ""), ("e", 'distinct_from = ["d.cause"]'))
).replace('right = ["rare"]', 'right = ["rare", "outdated"]')


@pytest.mark.parametrize(
    ("answer_text", "status"),
    [
        ("'rare, luck'", Status.NEEDS_REVIEW),
        ("['luck', 'rare']", Status.NEEDS_REVIEW),
        ("['rare', 'outdated']", Status.PASSED),
        ("['rare', 'rare']", Status.PASSED),
        ("'luck'", Status.FAILED),
    ],
)
def test_two_options_where_one_is_asked_for_need_manual_review(answer_text: str, status: Status) -> None:
    """Two options for a single choice need manual review, unless all of them are right."""
    assert status is _both(answer_text, "'luck'")[0].status


def _both(first: str, second: str) -> tuple[ItemResult, ItemResult]:
    """Return the results of two parts, the second of which must differ from the first."""
    rubric = parse_rubric(CAUSES.encode())
    checks = [make_check(question, rubric) for question in rubric.questions]
    (result,) = checks[0].judge(Evidence(answer(f"d_cause = {first}"), (), draw=DRAW))
    (other,) = checks[1].judge(
        Evidence(answer(f"e_cause = {second}"), (), earlier={"d.cause": result}, draw=DRAW)
    )
    return result, other


@pytest.mark.parametrize(
    ("first", "second", "points", "code"),
    [
        ("'rare'", "'outdated'", "1", ""),
        ("'rare'", "'rare'", "0", "choice.repeated"),
        ("'old data'", "'Outdated'", "0", "choice.repeated"),
        ("'luck'", "'luck'", "0", "choice.repeated"),  # wrong in the first part, and repeated
        ("'nonsense'", "'rare'", "1", ""),
        ("''", "'rare'", "1", ""),
        ("['rare', 'outdated']", "'outdated'", "0", "choice.repeated"),
    ],
)
def test_an_answer_counts_once(first: str, second: str, points: str, code: str) -> None:
    """An option that was chosen in an earlier part earns nothing if the parts must differ."""
    _, other = _both(first, second)
    assert (Decimal(points), code) == (other.points, other.code)


@pytest.mark.parametrize("name", ["e.cause", "d.other", "f.cause", "cause"])
def test_only_earlier_choices_can_be_told_apart_from(name: str) -> None:
    """A rule that refers to a later or unknown item is an error in the rubric."""
    rubric = parse_rubric(CAUSES.replace('["d.cause"]', f'["{name}"]').encode())
    with pytest.raises(RubricError, match=r"not an item of an earlier choice question; known are: d\.cause"):
        make_check(rubric.questions[1], rubric)


@pytest.mark.parametrize(
    ("written", "status", "points"),
    [
        ("['fp16', 'gradient_checkpointing']", Status.PASSED, "1"),
        ("['fp16', 'a trick of my own']", Status.NEEDS_REVIEW, "0"),
        ("['fp16', 'gradient_checkpointing', 'a trick of my own']", Status.PASSED, "1"),
        ("['fp16', 'learning_rate']", Status.FAILED, "0.5"),
    ],
)
def test_an_open_list_leaves_other_names_to_a_person(written: str, status: Status, points: str) -> None:
    """A name outside an open list needs manual review."""
    (item,) = judge(check_of(LIST.replace('others = "wrong"\n', "")), f"arguments = {written}")
    assert (status, Decimal(points)) == (item.status, item.points)


NAMES = """
[[question]]
id = "q"
kind = "choice"
points = 2
answer = "named"
[[question.option]]
id = "summarisation"
begins = ["summar"]
[[question.option]]
id = "recognition"
aliases = ["ASR", "speech recognition"]
begins = ["speech", "transcri"]
[[question.option]]
id = "synthesis"
begins = ["speech"]
[[question.option]]
id = "none"
[[question.item]]
id = "two"
points = 2
text = { en = "Two" }
pick = 2
credit = "each"
right = ["summarisation", "recognition"]
"""


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("Summarizing long articles", "summarisation"),
        ("the summary of a text", "summarisation"),
        ("speech recognition (ASR)", "recognition"),
        ("a machine that writes down what is said (speech recognition)", "recognition"),
        ("Transcription of talks", "recognition"),
        ("speech", ""),  # matches two options
        ("speech summaries", "summarisation"),
        ("summary ranking", ""),
        ("presummary", ""),
    ],
)
def test_a_name_is_known_by_the_beginning_of_a_word(name: str, option: str) -> None:
    """The beginning of a word selects an option if it is unique; an exact name takes precedence."""
    (result,) = judge(check_of(NAMES), f"named = [{name!r}]")
    assert ((option,) if option else ()) == result.chosen


WORDED = """
[[question]]
id = "q"
kind = "choice"
points = 1
answer = "named"
option = [
    { id = "relu" },
    { id = "gelu", aliases = ["exact gelu"] },
    { id = "gelu_new", aliases = ["tanh approximation", "gelu (tanh approximation)"] },
    { id = "pre-trained", aliases = ["pretrained", "pre-trained weights"] },
    { id = "typical" },
    { id = "rare" },
    { id = "all" },
    { id = "yes" },
    { id = "no", aliases = ["unchanged"] },
]
[[question.item]]
id = "one"
points = 1
text = { en = "One" }
right = ["no"]
"""
READ = {
    "no!": "no",
    "No": "no",
    "no, only output": "no",
    "no - it does not": "no",
    "unchanged": "no",
    "a pretrained": "pre-trained",
    "pretrained weights": "pre-trained",
    "all of them": "all",
    "GELU (tanh approximation)": "gelu_new",
    "the weights stay the same (unchanged)": "no",
    "gelu_new=True": "gelu_new",
}
UNCERTAIN = (
    *("I think it changes (yes)", "yes (no)", "typical (or rare)", "gelu_new (exact gelu)", "yes or no"),
    *("not typical", "it does not change (yes)", "typical, but rare", "gelu_new=False", "perhaps yes"),
    *("pretrained nonsense", "relu ranking", "no idea", "something else", "yes, maybe"),
)


@pytest.mark.parametrize(("text", "option"), READ.items())
def test_an_option_is_read_as_it_is_meant(text: str, option: str) -> None:
    (result,) = judge(check_of(WORDED), f"named = {text!r}")
    assert (option,) == result.chosen
    assert result.status is (Status.PASSED if option == "no" else Status.FAILED)


@pytest.mark.parametrize("text", UNCERTAIN)
def test_an_uncertain_choice_needs_manual_review(text: str) -> None:
    """Two options, a hedge, a negation or unexpected words need manual review."""
    (result,) = judge(check_of(WORDED), f"named = {text!r}")
    assert (Status.NEEDS_REVIEW, Decimal(0)) == (result.status, result.points)


@pytest.mark.parametrize("entry", [None, "none"])
def test_pythons_none_is_the_option_of_this_name(entry: str | None) -> None:
    """An entry None selects the option "none" if it exists."""
    item = 'key = 1\npick = 1\nright = ["none"]\n'
    rubric = NAMES.replace("pick = 2\n", "").replace('right = ["summarisation", "recognition"]\n', item)
    check = check_of(rubric.replace('credit = "each"\n', ""))
    (result,) = judge(check, "named = make()", [value({1: entry})])
    assert (("none",), Status.PASSED) == (result.chosen, result.status)


NUMBERED = """
[[question]]
id = "q"
kind = "choice"
points = 2
answer = "changes"
preset = "yes-no"
[[question.item]]
id = "first"
points = 1
key = 1
text = { en = "First" }
right = ["yes"]
[[question.item]]
id = "second"
points = 1
key = 2
text = { en = "Second" }
right = ["no"]
"""


@pytest.mark.parametrize(
    ("changes", "statuses"),
    [
        ({1: "yes", 2: "no"}, [Status.PASSED, Status.PASSED]),
        (["yes", "no"], [Status.PASSED, Status.PASSED]),
        (["no", "yes"], [Status.FAILED, Status.FAILED]),
        (["yes"], [Status.NEEDS_REVIEW, Status.NEEDS_REVIEW]),
        ({1: "yes"}, [Status.PASSED, Status.FAILED]),
    ],
    ids=repr,
)
def test_judge_reads_a_list_as_the_entries_one_to_n(changes: object, statuses: list[Status]) -> None:
    """A list is read as the entries 1 to n of a dictionary."""
    results = judge(check_of(NUMBERED), "changes = f()", [value(changes)])
    assert statuses == [result.status for result in results]


def test_a_variable_that_is_none_is_no_answer() -> None:
    """A variable that is None counts as no answer; only an entry None selects an option."""
    (result,) = judge(check_of(NAMES), "named = None")
    assert Status.NO_ANSWER is result.status


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("fp16, since numbers take half the room.", True),
        ("The right one is learning_rate: it decides on the steps.", True),
        ("**Answer:** `gradient_checkpointing`. It saves room.", True),
        ("With a smaller learning_rate the steps are smaller.", False),
        ("I would choose another argument.", False),
    ],
)
def test_is_in_text_sees_an_option_named_by_itself(text: str, is_named: bool) -> None:
    """An option counts as named only if it appears by itself, not as a word in an explanation."""
    assert check_of(LIST).is_in_text(text) == is_named


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("No. The constant cancels.", True),
        ("nein, sie kürzt sich", True),
        ("There is no change in `n`.", False),
    ],
)
def test_is_in_text_sees_yes_and_no_by_themselves(text: str, is_named: bool) -> None:
    """The words "yes" and "no" count only by themselves; they also occur in ordinary sentences."""
    assert check_of(TICK).is_in_text(text) == is_named
