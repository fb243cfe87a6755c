"""The repair kind tells the eight faults apart in every combination."""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations

import pytest

from autograder.checks.base import Draw, Evidence
from autograder.errors import RubricError
from autograder.kinds.transformers.repair import RepairCheck
from autograder.kinds.transformers.repair import sentences as repair
from autograder.kinds.transformers.repair.verdicts import PROBES
from autograder.messages import languages, render, template
from autograder.records import Answer, Ending, Message, Observation, Status
from reference.faults.decoder import EXAM as FAULT_IDS
from reference.listings import GIVEN, RIGHT
from tests.support.local_box import LocalBox
from tests.support.repair_question import DRAW, ITEM, answer, check, check_of, evidence, listing, read, sit
from tests.support.repair_variants import FILES, Variant, variants
from tests.support.thorough import sample

SUBSETS = sample([frozenset(some) for count in range(9) for some in combinations(FAULT_IDS, count)], 40)


def _with(results: dict[str, object], *statuses: Status) -> set[str]:
    return {item for item, result in results.items() if result.status in statuses}


@pytest.mark.slow
@pytest.mark.parametrize("size", range(9))
def test_every_combination_of_repairs_gets_its_eight_verdicts(size: int) -> None:
    """For subsets of repaired faults, exactly those items pass."""
    subsets = [subset for subset in SUBSETS if len(subset) == size]
    made = check()
    found = {subset: _with(sit(listing(subset), made=made), Status.PASSED) for subset in subsets}
    assert {subset: set(subset) for subset in subsets} == found


@pytest.mark.slow
@pytest.mark.parametrize("seed", sample(range(8), 3))
def test_the_verdicts_do_not_depend_on_the_draw(seed: int) -> None:
    """Under other hidden inputs, single faults and single repairs are told as exactly."""
    draw = Draw(bytes([seed]) * 32)
    for fault in FAULT_IDS:
        assert _with(sit(listing({fault}), draw=draw), Status.PASSED) == {fault}
        assert _with(sit(listing(set(FAULT_IDS) - {fault}), draw=draw), Status.FAILED) == {fault}


@pytest.mark.slow
@pytest.mark.parametrize(
    "variant",
    sample([variant for file in FILES for variant in variants(file)], 66),
    ids=lambda variant: variant.name,
)
def test_each_variant_loses_exactly_what_it_says(variant: Variant) -> None:
    """Right repairs earn all, wrong ones lose the named points, and staff read what else is odd.

    Whatever they are told can be said in both languages.
    """
    results = sit(variant.source(), *variant.cells_after(), made=check_of(tuple(variant.planted)))
    assert set(variant.loses) == _with(results, Status.FAILED, Status.NO_ANSWER)
    assert set(variant.review) == _with(results, Status.NEEDS_REVIEW)
    noted = {item: result.staff for item, result in results.items() if "note: " in result.staff}
    assert set(variant.notes) == set(noted)
    for item, part in variant.notes.items():
        assert part in noted[item]
    for result in results.values():
        assert render(result.student, "en") != render(result.student, "de")


def test_the_exam_has_enough_variants() -> None:
    """At least 50 right repairs are accepted, and what every probe looks for is missed by a wrong repair."""
    assert len(variants("accepted")) >= 50
    missed = {PROBES[fault] for variant in variants("wrong") for fault in variant.loses}
    assert missed == set(PROBES.values())
    assert len(variants("idioms")) >= 30
    assert len(variants("odd")) >= 100


def test_points_are_exact() -> None:
    """A passed item has all its points, a failed one none."""
    results = sit(listing({"residual", "output_head"}))
    points = {item: result.points for item, result in results.items() if result.points}
    assert points == {"residual": Decimal(1), "output_head": Decimal(1)}
    assert {result.possible for result in results.values()} == {Decimal(1)}


def test_an_untouched_listing_is_no_answer_and_asks_nothing() -> None:
    """The release scores 0: no call is made and every item says that nothing was answered."""
    made, untouched = check(), answer(listing(), changed=False)
    assert made.plan(untouched, DRAW) == ()
    results = made.judge(Evidence(untouched, ()))
    assert {(result.status, result.points) for result in results} == {(Status.NO_ANSWER, Decimal(0))}


def test_a_changed_comment_earns_nothing() -> None:
    """All eight faults with a remark beside them are eight failed items."""
    results = sit(listing() + "\n# looks fine to me\n")
    assert {(result.status, result.points) for result in results.values()} == {(Status.FAILED, Decimal(0))}


def test_a_missing_class_is_no_answer() -> None:
    """Where the cell did not run, so that no class is there, there is nothing to judge."""
    observed = LocalBox(GIVEN).ask(check().plan(answer("def"), DRAW))
    results = check().judge(evidence("def", observed))
    assert {(result.status, result.code) for result in results} == {(Status.NO_ANSWER, "name.missing")}


def test_a_box_that_was_ended_fails_what_needs_it_and_all_that_follows() -> None:
    """What was seen before the end still counts; what was not is the student's own doing."""
    made = check()
    plan = made.plan(answer(RIGHT), DRAW)
    observed = LocalBox(GIVEN, RIGHT).ask(plan)[:2]
    crash = Observation(ok=False, ending=Ending.MEMORY)
    observed.append((crash,) * len(plan[2].calls))
    results = {result.item: result for result in made.judge(evidence(RIGHT, observed))}
    assert _with(results, Status.PASSED) == {"self_mask", "cross_mask", "cross_value", "shape_order"}
    codes = {results[item].code for item in _with(results, Status.FAILED)}
    assert codes == {"ending.memory"}
    assert _with(results, Status.NEEDS_REVIEW) == set()


def test_what_was_never_asked_goes_to_a_person() -> None:
    """No observation and no end of a box is our fault, and costs nothing."""
    results = check().judge(evidence(RIGHT, ()))
    assert {result.status for result in results} == {Status.NEEDS_REVIEW}


def test_a_reference_that_fails_goes_to_a_person() -> None:
    """If the experiments do not find the reference whole, no student loses a point."""
    made = check(question='answer = "Decoder"\nreference = "decoder:Decoder"')
    observed = LocalBox(GIVEN, listing()).ask(made.plan(answer(listing()), DRAW))
    for expected in ((), LocalBox(GIVEN, listing(FAULT_IDS[1:])).ask(made.reference_plan(DRAW))):
        results = made.judge(evidence(listing(), observed, expected))
        assert {result.status for result in results} == {Status.NEEDS_REVIEW}


def test_the_reference_decoder_is_whole() -> None:
    """With the reference in place the key earns everything."""
    made = check(question='answer = "Decoder"\nreference = "decoder:Decoder"')
    assert _with(sit(RIGHT, made=made), Status.PASSED) == set(FAULT_IDS)


def test_a_manual_item_goes_to_a_person() -> None:
    """A repair question may have an item for a person beside the faults."""
    manual = '[[question.item]]\nid = "why"\npoints = 2\nmanual = true\ntext = { en = "why" }\n'
    made = check(ITEM.format(fault="residual") + manual, points=3)
    statuses = {item: result.status for item, result in sit(RIGHT, made=made).items()}
    assert statuses == {"residual": Status.PASSED, "why": Status.NEEDS_REVIEW}


def test_an_item_may_name_its_fault() -> None:
    """The option ``fault`` frees the item's id."""
    item = ITEM.format(fault="first") + 'fault = "residual"\n'
    made = check(item, points=1)
    assert sit(listing({"residual"}), made=made)["first"].status is Status.PASSED
    assert sit(listing(set(FAULT_IDS) - {"residual"}), made=made)["first"].status is Status.FAILED


@pytest.mark.parametrize(
    ("items", "question", "message"),
    [
        (ITEM.format(fault="residuals"), 'answer = "Decoder"', "did you mean 'residual'"),
        (ITEM.format(fault="x") + 'fualt = "residual"\n', 'answer = "Decoder"', "did you mean 'fault'"),
        (ITEM.format(fault="residual"), "", "answer: the name of the repaired class is missing"),
        (ITEM.format(fault="residual"), 'answer = "Decoder"\nprobes = 3', "unknown key 'probes'"),
    ],
)
def test_a_misspelt_rubric_is_refused(items: str, question: str, message: str) -> None:
    """Errors name the question and suggest what was meant."""
    made = read(items, question=question, points=1)
    with pytest.raises(RubricError, match="question 'repair'") as error:
        RepairCheck(made.questions[0], made)
    assert message in str(error.value)


def test_the_plan_is_small() -> None:
    """All scenarios together stay below 390 calls, 80 of them forward passes, and 2 MB of inputs."""
    calls = [call for scenario in check().plan(answer(RIGHT), DRAW) for call in scenario.calls]
    arrays = [argument.array for call in calls for argument in call.args if hasattr(argument, "array")]
    assert len(calls) < 390
    assert sum(len(call.args) == 4 for call in calls) < 80
    assert sum(array.nbytes for array in arrays) < 2_000_000


def test_each_draw_has_inputs_of_its_own() -> None:
    """The hidden tokens follow from the secret: the same draw repeats them, another one does not."""

    def tokens(draw: Draw) -> list[object]:
        plan = check().plan(answer(RIGHT), draw)
        return [call.args[0].array.tolist() for call in plan[0].calls if len(call.args) == 4]

    assert tokens(DRAW) == tokens(DRAW)
    assert tokens(DRAW) != tokens(Draw(bytes(32)))


def test_no_sentence_gives_the_repair_away() -> None:
    """No sentence for students contains a piece of the right listing."""
    pieces = ("self.", "nn.", "(x", "x +", ".shape", "target_mask", "memory_mask")
    for code in repair.SENTENCES:
        for text in (template(code, language) for language in languages()):
            assert [piece for piece in pieces if piece in text] == []


def test_a_repaired_item_says_so() -> None:
    """The student reads one plain word, staff that it is as expected."""
    result = sit(RIGHT)["residual"]
    assert result.student == Message("repair.repaired")
    assert result.staff == "as expected"


def test_an_answer_of_white_space_is_no_answer() -> None:
    """An emptied cell is not judged."""
    empty = Answer("repair-answer", "code", " \n", True)
    assert {result.status for result in check().judge(Evidence(empty, ()))} == {Status.NO_ANSWER}


def _placeholders(text: str) -> list[str]:
    return [part.split("}")[0] for part in text.split("{")[1:]]
