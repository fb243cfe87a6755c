"""Budgets for the answers of boxes: per question, per submission, and in time."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

from autograder.core.limits import BYTES_OF_VALUE, Budgets, MemoryBudget, compute_budgets, format_limit
from autograder.core.records import Call, Cell, Ending, Limits
from autograder.sandbox.exchange import values, wire
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.session import Session
from tests.redteam.attack import PRELUDE

LIMITS = Limits(cell_seconds=5, call_seconds=2, submission_seconds=20, processes=32)


def calls(number: int, target: str = "give") -> list[Call]:
    """Return this many calls."""
    return [Call(target) for _ in range(number)]


# ---------------------------------------------------------------- counting


def test_room_is_taken_until_nothing_is_left() -> None:
    """An answer that does not fit ends the box, and so does every later one."""
    whole = MemoryBudget(2, Ending.ANSWERS_SIZE)
    first, second = MemoryBudget(1, Ending.QUESTION_SIZE, whole), MemoryBudget(1, Ending.QUESTION_SIZE, whole)
    assert first.count_answer(1 << 20) is None
    assert Ending.QUESTION_SIZE is first.count_answer(1)
    assert None is second.ending
    assert Ending.ANSWERS_SIZE is second.count_answer(1 << 20)
    assert Ending.QUESTION_SIZE is first.ending


def test_a_rubric_with_larger_answers_has_larger_budgets() -> None:
    """Two answers of the largest size always fit into the budget of a question; messages name the limit."""
    large = compute_budgets(Limits(reply_mb=500))
    assert (128, 1000) == (compute_budgets(Limits()).question_mb, large.question_mb)
    assert ("128 MB", "1024 MB") == tuple(
        format_limit(one, Limits()) for one in (Ending.QUESTION_SIZE, Ending.ANSWERS_SIZE)
    )
    assert format_limit(Ending.QUESTION_SIZE, Limits(reply_mb=500)) == f"{large.question_mb} MB"


@pytest.mark.parametrize(
    ("body", "least"),
    [
        (b"[" + b"0," * 9999 + b"0]", 10_000),
        (b'["' + b"[,{" * 5000 + b'"]', 1),
        (b'["\\",' + b"[" * 5000 + b'",[]]', 3),
    ],
)
def test_values_are_counted_and_texts_are_not(body: bytes, least: int) -> None:
    """Commas and brackets outside of strings count as values."""
    assert least <= wire.count_values(body) <= least + 2


def test_a_reply_weighs_what_it_takes_when_it_is_read() -> None:
    """Many values, many arrays and much text weigh more than their length in bytes."""
    many = b"[" + b"[]," * 100_000 + b"0]"
    assert 200_000 * BYTES_OF_VALUE <= values.estimate_memory(many, b"")
    assert 40 << 20 <= values.estimate_memory(b"{}", b"".join(wire.pack_arrays({"a": np.zeros(5 << 20)})))
    small = {str(number): np.zeros(1) for number in range(3000)}
    assert 10 << 20 <= values.estimate_memory(b"{}", b"".join(wire.pack_arrays(small)))
    with pytest.raises(wire.ProtocolError, match="too many parts"):
        values.estimate_memory(b"[" + b"0," * values.MAX_VALUES + b"0]", b"")


# ---------------------------------------------------------------- refusals


def alike(number: int, of: str) -> list[Any]:
    """Return trees with different keys that have the same hash."""
    prime = (1 << 61) - 1
    if of == "integers":
        return [{"$": "int", "v": hex(one * prime)} for one in range(1, number + 1)]
    if of == "floats":
        return [float(2 ** (61 * one)) for one in range(number)]
    inner = [{"$": "int", "v": hex(one * prime)} for one in range(1, number + 1)]
    return [{"$": "tuple", "v": [one, "a"]} for one in inner]


@pytest.mark.parametrize(
    ("of", "number"), [("integers", 9), ("tuples", 9), ("floats", 12), ("integers", 60_000)]
)
def test_keys_with_one_hash_are_refused(of: str, number: int) -> None:
    """Hashes of numbers and tuples are predictable; a dictionary with colliding keys would take hours."""
    tree = {"$": "dict", "v": [[key, 0] for key in alike(number, of)]}
    with pytest.raises(wire.ProtocolError, match="the same hash"):
        values.create_trusted_decoder({}).decode(tree)


@pytest.mark.parametrize("of", [range(50_000), [(a, b) for a in range(200) for b in range(200)], "äöü-_x"])
def test_honest_keys_have_hashes_of_their_own(of: Any) -> None:
    """A vocabulary, pairs of tokens as in byte pair encoding, and strings arrive unchanged."""
    given = {key: number for number, key in enumerate(of)}
    encoder = values.TrustedEncoder()
    tree = json.loads(json.dumps(encoder.encode(given)))
    assert given == values.create_trusted_decoder({}).decode(tree)


@pytest.mark.parametrize(
    "message",
    [
        {"id": "x", "n": 0, "observed": {"v": 1}, "junk": []},
        {"id": "x", "n": 0, "observed": {"v": 1, "junk": []}},
        {"id": "x", "n": 0, "observed": {"v": {"$": "tuple", "v": [], "junk": 0}}},
    ],
)
def test_what_nobody_reads_is_refused(message: dict[str, Any]) -> None:
    """An unknown key breaks the protocol at any place."""
    with pytest.raises(wire.ProtocolError, match="nothing reads"):
        values.read_observation(message, {}, 0)


def test_an_array_stands_at_one_place() -> None:
    """Otherwise one large array could be judged a hundred thousand times."""
    once = {"$": "numpy", "k": "0"}
    for tree, right in (([once], True), ([once, once], False)):
        reply = {"id": "x", "n": 0, "observed": {"v": tree}}
        if right:
            assert values.read_observation(reply, {"0": np.zeros(2)}, 0).ok
        else:
            with pytest.raises(wire.ProtocolError, match="missing"):
                values.read_observation(reply, {"0": np.zeros(2)}, 0)


@pytest.mark.parametrize("place", [{"n": 0}, {"n": 2}, {"n": None}, {"n": [1]}])
def test_a_reply_answers_the_call_that_was_made(place: dict[str, Any]) -> None:
    """An answer to a different call is refused."""
    reply = {"id": "x", "n": 1, "observed": {"v": 1}}
    assert values.read_observation(reply, {}, 1).value == 1
    with pytest.raises(wire.ProtocolError, match="does not fit"):
        values.read_observation({**reply, **place}, {}, 1)


# ---------------------------------------------------------------- in boxes


@pytest.mark.sandbox
def test_a_question_has_so_much_room_and_the_next_has_it_again(plain_sandbox: NamespaceSandbox) -> None:
    """Calls that return the largest arrays are answered until the question's budget is used up."""
    cell = Cell("import numpy as np\ndef give():\n    return np.ones(60 << 20, np.uint8)")
    with Session(plain_sandbox, [cell], LIMITS) as session:
        for place in ("first", "second"):
            answers = session.ask(calls(5), place=place)
            assert [True, True, False, False, False] == [one.ok for one in answers]
            assert {Ending.QUESTION_SIZE} == {one.ending for one in answers[2:]}
            assert {"128 MB"} == {one.limit for one in answers[2:]}
            del answers


@pytest.mark.sandbox
def test_what_a_question_is_asked_again_counts_together(plain_sandbox: NamespaceSandbox) -> None:
    """A second round of calls for the same question uses the same budget."""
    cell = Cell("import numpy as np\ndef give():\n    return np.ones(60 << 20, np.uint8)")
    with Session(plain_sandbox, [cell], LIMITS) as session:
        assert [True, True] == [one.ok for one in session.ask(calls(2), place="q")]
        assert Ending.QUESTION_SIZE is session.ask(calls(1), place="q")[0].ending


@pytest.mark.sandbox
def test_a_submission_has_so_much_room(plain_sandbox: NamespaceSandbox) -> None:
    """All answers of a submission have a common budget; further calls are not made."""
    cell = Cell("import numpy as np\nlarge = np.ones(60 << 20, np.uint8)\ndef give():\n    return large")
    codes: Counter[Any] = Counter()
    with Session(plain_sandbox, [cell], LIMITS) as session:
        for number in range(12):
            codes.update(one.ending for one in session.ask(calls(2), place=str(number)))
    taken = Budgets().answers_mb // 60
    assert {None: taken, Ending.ANSWERS_SIZE: 24 - taken} == codes


@pytest.mark.slow
@pytest.mark.sandbox
def test_what_came_before_its_time_was_looked_at_is_not_late(
    plain_sandbox: NamespaceSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the grader is delayed beyond the call's limit, an answer already in the pipe still counts."""
    box = plain_sandbox.open(LIMITS)
    try:
        box.run_cell("import time\ndef give():\n    time.sleep(0.2)\n    return 1", seconds=5)
        late = box._watch.read_processor_seconds  # type: ignore[attr-defined]

        def kept_from_looking(**how: Any) -> float:
            time.sleep(1.0)  # another thread holds the interpreter's lock meanwhile
            return float(late(**how)) + 99

        monkeypatch.setattr(box._watch, "read_processor_seconds", kept_from_looking)  # type: ignore[attr-defined]
        (answers,) = box.ask(calls(1), seconds=0.1)
    finally:
        monkeypatch.undo()
        box.close()
    assert (True, 1) == (answers.ok, answers.value)


@pytest.mark.sandbox
def test_a_reply_may_not_trickle_past_its_time(plain_sandbox: NamespaceSandbox) -> None:
    """Sending one byte after another does not keep a box alive beyond its time."""
    box = plain_sandbox.open(LIMITS)
    try:
        box.run_cell(
            PRELUDE
            + "\ndef give():\n    send(frame(b'', lengths=(1, 60 << 20)))\n    while True: send(b' ')",
            seconds=5,
        )
        (answers,) = box.ask(calls(1), seconds=0.5)
        assert Ending.CALL_TIME is answers.ending
    finally:
        box.close()
