"""What may pass beside outcomes that no listing gives: only what something observed speaks for."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from autograder.checks.options import Rules
from autograder.kinds.general.debugging.outcomes import NAN, UNSURE, related
from autograder.kinds.general.debugging.search import Listings, Search
from autograder.kinds.general.debugging.use import ProbeOutcome
from autograder.kinds.general.debugging.verdicts import Verdicts, verdicts

FAULTS = ("axis", "mean")
RAISED = ProbeOutcome(error="ValueError")
UNSAID = ProbeOutcome(error=NAN)
NOT_SURE = ProbeOutcome(error=UNSURE)


def found(
    tells: Mapping[str, str], own: Mapping[str, float | None], about: str = "", *, right: float | None = None
) -> Verdicts:
    """Judge code by probes.

    Args:
        tells: probe → the faults that change what it gives, with blanks between; right is 0.
        own: probe → what the code gives; None: it raises.
        about: the probe that the author made for ``axis``.
        right: of that probe, where it only tells what is alike: 1 for alike, 0 for unlike.
    """
    subsets = [frozenset(one) for size in range(3) for one in combinations(FAULTS, size)]
    outcomes: list[dict[str, ProbeOutcome | None]] = [
        {
            probe: ProbeOutcome(
                (
                    (right or 0.0) * (probe == about)
                    + float(sum(4 ** FAULTS.index(one) for one in names.split() if one in subset)),
                )
            )
            for probe, names in tells.items()
        }
        for subset in subsets
    ]
    made = {probe: "axis" * (probe == about) for probe in tells}
    related = frozenset({about} if right is not None else ())
    listings = Listings.of(FAULTS, subsets, made, outcomes, rules=Rules(), relating=related)
    code: dict[str, ProbeOutcome | None] = {
        probe: RAISED if value is None else ProbeOutcome((value,)) for probe, value in own.items()
    }
    return verdicts(Search(listings, tuple(range(len(tells))), ()), code)


def left(judged: Verdicts) -> dict[str, bool | None]:
    """What is left, by fault."""
    return {fault: one.left for fault, one in judged.faults.items()}


def test_code_that_is_right_for_some_inputs_waits() -> None:
    """One probe of four is right, and nothing tells what is wrong in the others: a person decides on all."""
    probes = {f"loss {number}": "axis mean" for number in range(1, 5)}
    judged = found(probes, {"loss 1": None, "loss 2": 0.0, "loss 3": None, "loss 4": None})
    assert {"axis": None, "mean": None} == left(judged)
    assert "like listings without it in loss 2" == judged.faults["mean"].why
    assert (
        "computes what no listing computes; nearest is the right listing, not in loss 1, loss 3, loss 4; "
        "raises ValueError in loss 1, loss 3, loss 4" == judged.defect
    )


def test_a_half_repaired_fault_takes_nothing_else_down() -> None:
    """A use that tells one fault speaks for it; what is odd where both are told is put down to the other."""
    judged = found(
        {"plain 1": "axis", "plain 2": "axis", "both 1": "axis mean", "both 2": "axis mean"},
        {"plain 1": 0.0, "plain 2": 0.0, "both 1": 7.5, "both 2": 0.0},
    )
    assert {"axis": False, "mean": None} == left(judged)
    kept = found({"plain 1": "axis", "both 1": "axis mean"}, {"plain 1": 1.0, "both 1": 7.5})
    assert {"axis": True, "mean": None} == left(kept)


def test_what_only_one_fault_explains_is_put_down_to_it() -> None:
    """A probe that tells one fault alone, and gives what no listing gives, leaves that fault to a person."""
    judged = found(
        {"plain 1": "axis", "both 1": "axis mean", "counted 1": "mean"},
        {"plain 1": 7.5, "both 1": 0.0, "counted 1": 0.0},
    )
    assert {"axis": None, "mean": False} == left(judged)


def test_where_every_fault_has_a_use_that_speaks_for_it_nothing_passes() -> None:
    """The outcome has to come from somewhere: where no fault is left to blame, none of them is won."""
    judged = found(
        {"plain 1": "axis", "counted 1": "mean", "both 1": "axis mean"},
        {"plain 1": 0.0, "counted 1": 0.0, "both 1": None},
    )
    assert {"axis": None, "mean": None} == left(judged)


def test_a_relation_of_the_author_speaks_for_code() -> None:
    """Code that computes something of its own passes by the probe that was made for the fault."""
    judged = found(
        {"loss 1": "axis mean", "relation 1": "axis"}, {"loss 1": 7.5, "relation 1": 0.0}, "relation 1"
    )
    assert {"axis": False, "mean": None} == left(judged)


def test_code_that_always_raises_says_so() -> None:
    """Staff read which exception it is."""
    judged = found({"loss 1": "axis", "loss 2": "mean"}, {"loss 1": None, "loss 2": None})
    assert {"axis": None, "mean": None} == left(judged)
    assert judged.defect.endswith("raises ValueError in all probes")


def test_what_was_not_asked_speaks_for_nobody() -> None:
    """Who is right in the first probe and uses the time up waits for a person; what is left stays lost."""
    probes = {"loss 1": "axis mean", "loss 2": "axis mean"}
    judged = found(probes, {"loss 1": 0.0})
    assert {"axis": None, "mean": None} == left(judged)
    assert "computes the same as the right listing; nothing is known of loss 2" == judged.faults["mean"].why
    assert {"axis": True, "mean": None} == left(found(probes, {"loss 1": 1.0}))


def test_a_relation_that_a_constant_keeps_speaks_for_nobody() -> None:
    """Where all that is related is alike in right code, it is in code that computes nothing, too."""
    probes, name = {"loss 1": "axis mean", "relation 1": "axis"}, "relation 1"
    judged = found(probes, {"loss 1": 7.5, "relation 1": 1.0}, name, right=1.0)
    assert {"axis": None, "mean": None} == left(judged)
    judged = found(probes, {"loss 1": 7.5, "relation 1": 0.0}, name, right=0.0)
    assert {"axis": False, "mean": None} == left(judged)


def by_own(
    about: Mapping[str, str],
    own: Mapping[str, ProbeOutcome | float],
    *,
    general: Mapping[str, str] | None = None,
    instead: Mapping[str, str] | None = None,
    faults: tuple[str, ...] = FAULTS,
    alone: frozenset[str] = frozenset(),
    mute: Mapping[str, str] | None = None,
) -> dict[str, bool | None]:
    """Judge code by probes that the author made: each gives 1 where its fault is left, otherwise 0.

    Args:
        about: probe → its fault.
        own: probe → what the code gives.
        general: further probes, made for no fault → the fault that each tells.
        instead: probe → the use in whose place it speaks.
        faults: of the question.
        alone: probes that depend on their fault alone.
        mute: probes of which listings say nothing → those with its fault; "": those without.
    """
    tells = {**about, **(general or {})}
    subsets = [frozenset(one) for size in range(len(faults) + 1) for one in combinations(faults, size)]
    outcomes = [
        {
            probe: UNSAID
            if (mute or {}).get(probe, None) == (fault if fault in subset else "")
            else ProbeOutcome((float(fault in subset),))
            for probe, fault in tells.items()
        }
        for subset in subsets
    ]
    made = {probe: about.get(probe, "") for probe in tells}
    listings = Listings.of(faults, subsets, made, outcomes, rules=Rules(), instead=instead, alone=alone)
    code = {
        probe: one if isinstance(one, ProbeOutcome) else ProbeOutcome((float(one),))
        for probe, one in own.items()
    }
    return left(verdicts(Search(listings, tuple(range(len(tells))), ()), code))


def test_a_use_about_a_fault_outweighs_what_is_looked_at_otherwise() -> None:
    """A table that is long enough for a plain text may be too short; the other way round a person decides."""
    about, general = {"long 1": "axis", "sum 1": "mean"}, {"plain 1": "axis"}
    own = {"long 1": 1.0, "sum 1": 0.0, "plain 1": 0.0}
    assert {"axis": True, "mean": False} == by_own(about, own, general=general)
    own = {"long 1": 0.0, "sum 1": 0.0, "plain 1": 1.0}
    assert {"axis": None, "mean": False} == by_own(about, own, general=general)


def test_what_the_right_listing_gives_speaks_for_no_fault() -> None:
    """Beside another fault no listing gives what the right one gives: the fault is not there for that.

    Where none of the listings with the fault ever gives it, it speaks for the code; but not in a relation in
    which all is alike.
    """
    probes, own = {"about": "axis mean", "other": "mean"}, {"about": 0.0, "other": 4.0}
    assert {"axis": False, "mean": True} == left(found(probes, own, about="about"))
    alike = found(probes, {"about": 1.0, "other": 4.0}, about="about", right=1.0)
    assert {"axis": None, "mean": True} == left(alike)


def test_what_the_right_listing_gives_does_not_keep_an_author_from_speaking() -> None:
    """The fault is passed although another one is left in other words, and an outcome is odd."""
    probes = {"about": "axis mean", "alone": "axis", "other": "mean", "all": "axis mean"}
    own: dict[str, float | None] = {"about": 0.0, "alone": 0.0, "other": 4.0, "all": 9.0}
    assert {"axis": False, "mean": True} == left(found(probes, own, about="about"))


def test_all_uses_about_a_fault_have_to_speak_for_the_code() -> None:
    """One that raises leaves it to a person, however often others say that it is repaired."""
    about = {"one 1": "axis", "other 1": "axis", "sum 1": "mean"}
    assert {"axis": None, "mean": False} == by_own(about, {"one 1": 0.0, "other 1": RAISED, "sum 1": 0.0})


def test_a_relation_about_which_nothing_can_be_said_is_silent() -> None:
    """NaN speaks neither for the code nor against it."""
    about = {"one 1": "axis", "other 1": "axis", "sum 1": "mean"}
    assert {"axis": False, "mean": True} == by_own(about, {"one 1": 0.0, "other 1": UNSAID, "sum 1": 1.0})
    assert {"axis": None, "mean": False} == by_own(about, {"one 1": UNSAID, "other 1": UNSAID, "sum 1": 0.0})


def test_a_use_stands_in_where_another_one_raises() -> None:
    """It is not heard as long as the other one gives something."""
    about, instead = {"bare 1": "axis", "layer 1": "axis", "sum 1": "mean"}, {"layer 1": "bare"}
    for own, axis in (
        ((RAISED, 0.0), False),
        ((RAISED, 1.0), True),
        ((RAISED, RAISED), None),
        ((0.0, 7.5), False),
    ):
        given = {"bare 1": own[0], "layer 1": own[1], "sum 1": 0.0}
        assert {"axis": axis, "mean": False} == by_own(about, given, instead=instead)


def test_what_is_odd_for_many_faults_is_put_down_to_none() -> None:
    """Of one it is this fault in other words; of several, a person decides; of many, no use speaks."""
    faults = ("a", "b", "c", "d")
    about = {f"{fault} 1": fault for fault in faults}
    one = by_own(about, {"a 1": 7.5, "b 1": 0.0, "c 1": 0.0, "d 1": 1.0}, faults=faults)
    assert {"a": True, "b": False, "c": False, "d": True} == one
    some = by_own(about, {"a 1": 7.5, "b 1": 7.5, "c 1": 0.0, "d 1": 1.0}, faults=faults)
    assert {"a": None, "b": None, "c": False, "d": True} == some
    many = by_own(about, {"a 1": 7.5, "b 1": 7.5, "c 1": 7.5, "d 1": 1.0}, faults=faults)
    assert dict.fromkeys(faults) == many


def test_a_use_that_depends_on_its_fault_alone_speaks_beside_others_that_are_odd() -> None:
    """The author says so: nothing else explains what it gives. It says nothing of the other fault."""
    about, own = {"a 1": "a", "b 1": "b", "c 1": "c"}, {"a 1": 7.5, "b 1": 7.5, "c 1": 0.0}
    found = by_own(about, own, faults=("a", "b", "c"), alone=frozenset({"a 1"}))
    assert {"a": True, "b": None, "c": False} == found


def test_what_is_odd_of_a_fault_that_is_left_keeps_no_other_use_from_speaking() -> None:
    """That is this fault in other words: one of its uses says plainly that it is there."""
    faults = ("a", "b", "c", "d")
    about = {f"{fault} {number}": fault for fault in faults for number in (1, 2)}
    own = {probe: 0.0 if probe[0] == "d" else 1.0 if probe[-1] == "1" else 7.5 for probe in about}
    assert {"a": True, "b": True, "c": True, "d": False} == by_own(about, own, faults=faults)


def test_where_many_uses_raise_nothing_odd_speaks_for_a_fault() -> None:
    """What is returned has another form then, and no use can read it."""
    faults = ("a", "b", "c", "d")
    about = {f"{fault} 1": fault for fault in faults}
    own = {"a 1": 7.5, "b 1": RAISED, "c 1": RAISED, "d 1": RAISED}
    assert dict.fromkeys(faults) == by_own(about, own, faults=faults)
    assert by_own(about, own | {"d 1": 0.0}, faults=faults)["a"] is True


def test_a_fault_of_which_most_uses_say_nothing_is_not_won() -> None:
    """Where some probe gives what no listing gives; one of three says that it is repaired."""
    about = {"one 1": "axis", "two 1": "axis", "three 1": "axis", "sum 1": "mean"}
    own = {"one 1": 0.0, "two 1": UNSAID, "three 1": UNSAID, "sum 1": 7.5}
    assert {"axis": None, "mean": True} == by_own(about, own)
    assert {"axis": False, "mean": True} == by_own(about, own | {"two 1": 0.0})


def test_a_relation_that_is_not_sure_leaves_its_fault_to_a_person() -> None:
    """However often others say that it is repaired; and what is odd for another fault may be the same."""
    about = {"one 1": "axis", "other 1": "axis", "sum 1": "mean"}
    own = {"one 1": 0.0, "other 1": NOT_SURE, "sum 1": 0.0}
    assert {"axis": None, "mean": False} == by_own(about, own)
    assert {"axis": None, "mean": True} == by_own(about, own | {"sum 1": 1.0})
    assert {"axis": None, "mean": None} == by_own(about, own | {"sum 1": 7.5})


def test_what_listings_do_not_say_is_no_evidence() -> None:
    """Code is not like listings with a fault because those without it happened to say nothing."""
    about, own = {"one 1": "axis", "other 1": "axis", "sum 1": "mean"}, {"other 1": 0.0, "sum 1": 7.5}
    for value in (0.0, 1.0):
        found = by_own(about, own | {"one 1": value}, mute={"one 1": ""})
        assert {"axis": False, "mean": True} == found
    found = by_own(about, own | {"one 1": 0.0}, mute={"one 1": "axis"})
    assert {"axis": False, "mean": True} == found
    assert {"axis": None, "mean": None} == by_own(about, own | {"one 1": 7.5}, mute={"one 1": "axis"})


def test_what_has_to_be_true_is_looked_at_where_something_can_be_said() -> None:
    """NaN comes first; numbers count as conditions do, and each number of an array."""
    for values, says in (
        ((1.0, 1.0, True), (True,)),
        ((1.0, 1.0, 0.0), UNSURE),
        ((1.0, 2.0, np.array([True, False])), UNSURE),
        ((1.0, float("nan"), False), NAN),
    ):
        told = related(ProbeOutcome(values), [(0, 1)], Rules(), [2])
        assert told == (ProbeOutcome(error=says) if isinstance(says, str) else ProbeOutcome(says))


def test_a_use_that_tells_of_no_fault_is_not_there_for_rounding() -> None:
    """Right code whose numbers are a little further apart is not left to a person for them."""
    subsets = [frozenset[str](), frozenset({"axis"})]
    outcomes = [{"all 1": ProbeOutcome((1.0,)), "sum 1": ProbeOutcome((float(len(one)),))} for one in subsets]
    made = Listings.of(
        ("axis",), subsets, {"all 1": "", "sum 1": ""}, outcomes, rules=Rules(), whole=frozenset({"all 1"})
    )
    for gives, says in ((1.0 + 20 * Rules().rtol, False), (1.1, None)):
        code = {"all 1": ProbeOutcome((gives,)), "sum 1": ProbeOutcome((0.0,))}
        assert {"axis": says} == left(verdicts(Search(made, (0, 1), ()), code))


def test_probes_that_say_nothing_of_the_right_listing_are_named() -> None:
    """The author is told, since nobody else would notice; of a faulty listing it may be so."""
    subsets = [frozenset[str](), frozenset({"axis"})]
    outcomes = [{"a 1": UNSAID, "b 1": RAISED}, {"a 1": RAISED, "b 1": UNSAID}]
    made = Listings.of(("axis",), subsets, {"a 1": "axis", "b 1": "axis"}, outcomes, rules=Rules())
    assert ("a 1",) == made.of_no_use
