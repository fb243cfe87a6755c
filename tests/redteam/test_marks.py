"""Lying, overridden and forged values are judged as the student's own answer.

The judge compares outside of the box. So a lie about equality, a patched library or a forged reply is worth
exactly the value that it contains. An honest later question is asked in a clean box.
"""

from __future__ import annotations

import numpy as np
import pytest

from autograder.core.records import Call, Cell, Ending, Observation, OpaqueValue, Tensor
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.session import Session
from tests.redteam.attack import PRELUDE
from tests.redteam.test_boxes import LIMITS

pytestmark = pytest.mark.sandbox

ONES = Tensor(np.ones(3, np.float32), "float32")
ZEROS = np.zeros(3, np.float32)


def asked(sandbox: NamespaceSandbox, source: str, *names: str, argument: object = None) -> list[Observation]:
    """Return the results of calls, each asked as a separate question."""
    args = () if argument is None else (argument,)
    with Session(sandbox, (Cell(PRELUDE), Cell(source)), LIMITS) as session:
        return [session.ask([Call(name, args=args)])[0] for name in names]


LYING_TENSORS = {
    "equal to everything": "class T(torch.Tensor):\n    def __eq__(self, other): return torch.tensor(True)",
    "answering for torch": "class T(torch.Tensor):\n    @classmethod\n"
    "    def __torch_function__(cls, func, types, args=(), kwargs=None): return torch.ones(3)",
    "with other numbers for numpy": "class T(torch.Tensor):\n    def numpy(self): return np.ones(3)\n"
    "    def __array__(self, *_): return np.ones(3)",
}


@pytest.mark.parametrize("source", LYING_TENSORS.values(), ids=LYING_TENSORS.keys())
def test_a_tensor_that_lies_is_its_numbers(torch_sandbox: NamespaceSandbox, source: str) -> None:
    """A tensor of a lying subclass arrives as its stored numbers."""
    source = f"import numpy as np, torch\n{source}\ndef attack(x):\n    return torch.zeros(3).as_subclass(T)"
    (observation,) = asked(torch_sandbox, source, "attack", argument=ONES)
    assert observation.ok, observation
    assert type(observation.value) is Tensor
    np.testing.assert_array_equal(ZEROS, observation.value.array)


def test_overridden_comparisons_change_no_value(torch_sandbox: NamespaceSandbox) -> None:
    """Patching torch, numpy and the builtins leaves a wrong answer wrong."""
    source = (
        "import builtins, numpy, torch\ntorch.allclose = torch.equal = lambda *_, **__: True\n"
        "numpy.allclose = numpy.array_equal = lambda *_, **__: True\nbuiltins.abs = lambda *_: 0\n"
        "def attack(x):\n    return torch.zeros(3)"
    )
    (observation,) = asked(torch_sandbox, source, "attack", argument=ONES)
    np.testing.assert_array_equal(ZEROS, observation.value.array)


@pytest.mark.parametrize(
    ("source", "arrives"),
    [
        (
            "class L(int):\n    def __eq__(self, other): return True\nlie = L(5)",
            5,
        ),
        ("class L:\n    def __eq__(self, other): return True\nlie = L()", OpaqueValue("L")),
        (
            "class L(str):\n    def __str__(self): return 'right'\n    __repr__ = __str__\nlie = L('wrong')",
            "wrong",
        ),
        ("class L(list):\n    def __getitem__(self, i): return 42\nlie = L([1])", [1]),
        ("class L(float):\n    def __sub__(self, other): return 0.0\nlie = L(7.5)", 7.5),
    ],
)
def test_an_object_that_lies_is_what_it_stores(
    plain_sandbox: NamespaceSandbox, source: str, arrives: object
) -> None:
    """Subclasses of plain types arrive as their stored value; other objects only as a type name."""
    (observation,) = asked(plain_sandbox, f"{source}\ndef attack():\n    return lie", "attack")
    assert arrives == observation.value
    assert type(arrives) is type(observation.value)


FORGE = """
def attack():
    send(frame({'id': request_id(), 'n': 0, 'observed': {'v': 42}}))
    return 43
def honest():
    return 7
"""


def test_a_forged_reply_is_the_students_word_and_the_second_one_ends_the_box(
    plain_sandbox: NamespaceSandbox,
) -> None:
    """The first reply with the right id is judged; the real one is then unexpected and ends the box."""
    first, second, third = asked(plain_sandbox, FORGE, "attack", "honest", "honest")
    assert 42 == first.value
    assert Ending.PROTOCOL is second.ending
    assert 7 == third.value


def test_an_id_is_never_used_twice(plain_sandbox: NamespaceSandbox) -> None:
    """A reply saved from one request answers no other."""
    source = (
        "kept = []\ndef remember():\n    kept.append(request_id())\n    return 1\n"
        "def replay():\n"
        "    send(frame({'id': kept[0], 'n': 0, 'observed': {'v': 42}}))\n    return 2"
    )
    first, second = asked(plain_sandbox, source, "remember", "replay")
    assert 1 == first.value
    assert Ending.PROTOCOL is second.ending


def test_forged_values_are_plain_values(plain_sandbox: NamespaceSandbox) -> None:
    """Any forged tree becomes only numbers, texts, containers and our records."""
    source = (
        "def attack():\n    send(frame({'id': request_id(), 'n': 0, 'observed': {'v': "
        "[{'$': 'opaque', 'type': {'a': 1}, 'text': 5}, {'$': 'ref', 'v': []}, '\\ud800', True]}}))\n"
        "    time.sleep(9)"
    )
    (observation,) = asked(plain_sandbox, source, "attack")
    assert [OpaqueValue(""), OpaqueValue(""), "\ufffd", True] == observation.value


def test_a_hidden_call_shows_its_inputs_only_to_itself(plain_sandbox: NamespaceSandbox) -> None:
    """Inputs can be remembered within a box (the only remaining leak), but not in another box."""
    source = (
        "seen = []\ndef keep(x):\n    seen.append(x)\n    return len(seen)\ndef tell():\n    return len(seen)"
    )
    assert [1, 2] == [one.value for one in asked(plain_sandbox, source, "keep", "keep", argument=5)]
    assert [0] == [one.value for one in asked(plain_sandbox, source, "tell")]
