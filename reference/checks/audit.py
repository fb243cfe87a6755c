"""Checks of a test that students write: it is tried on right classes and on wrong ones.

Each class is made in a fresh box, so that a test cannot compare one with another, and its source does not
tell what it is: see `reference.audits.specimens`. Which of them are right is known here alone.
"""

from __future__ import annotations

import random

import torch

from autograder.checking import Wrong, assert_equal, check, mutant, planted, solution
from reference.audits.specimens import GROUPS, NAME, RIGHT_CLASSES, program

solution(
    source="""
import torch

def audit(cls):
    torch.manual_seed(1)
    layer = cls(12, 3).eval()
    query, key, value = torch.randn(2, 4, 12), torch.randn(2, 4, 12), torch.randn(2, 4, 12)
    mask = torch.rand(2, 1, 4, 4) > 0.4
    mask[..., 0] = True

    def heads(linear, x):
        return linear(x).unflatten(-1, (3, 4)).transpose(1, 2)

    for allowed in (None, mask):
        context = torch.nn.functional.scaled_dot_product_attention(
            heads(layer.q_proj, query), heads(layer.k_proj, key), heads(layer.v_proj, value), allowed
        )
        wanted = layer.out_proj(context.transpose(1, 2).flatten(2))
        if not torch.allclose(layer(query, key, value, allowed), wanted, atol=1e-5):
            return False
    return True
"""
)

RIGHT = tuple(f"right {number}" for number in range(RIGHT_CLASSES))
WRONG = tuple(name for names in GROUPS.values() for name in names)

SECONDS = 100
"""Enough for a test that never ends on some of the classes; `call_seconds` limits each one."""

answers: dict[object, dict[str, object]] = {}
"""The names of an answer → what its test says of each class, which all items ask for."""


def answers_of(student, draw):
    """What the test says of each class: True, False, or why it says neither."""
    if student not in answers:
        seed = [draw.seed() for _ in range(8)]  # more than a test could try in order to learn what is drawn
        names = [*RIGHT, *WRONG]
        order = [names[place] for place in draw.permutation(len(names))]
        said = {name: answer(student.again(), name, f"{seed} {name}") for name in order}
        answers[student] = {name: said[name] for name in names}
    return answers[student]


def answer(student, name, seed):
    try:
        source = program("" if name in RIGHT else name, random.Random(seed))  # noqa: S311 - seeded by the draw
        defined = student.define(source)
        said = student.audit(getattr(defined, NAME))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(said, torch.Tensor) and said.dtype == torch.bool and said.ndim == 0:
        return said.item()
    return said if type(said) is bool else f"returned a {type(said).__name__}"


def compare(student, draw, wrong, *, in_proportion=False):
    """Fail unless the test accepts every right class and rejects each of these wrong ones."""
    student.audit  # noqa: B018 - the notebook may not define it
    expected = dict.fromkeys(RIGHT, True) | dict.fromkeys(wrong, False)
    said = {name: answers_of(student, draw)[name] for name in expected}
    caught = sum(said[name] is False for name in wrong) / len(wrong)
    rejected = sum(said[name] is not True for name in RIGHT) / len(RIGHT)
    try:
        assert_equal(said, expected)
    except Wrong as error:
        share = max(0.0, caught - rejected) if in_proportion else 0.0
        errors = {name: said[name] for name in expected if said[name] is not expected[name]}
        n_rejected, n_caught = round(rejected * len(RIGHT)), round(caught * len(wrong))
        told = {
            "en": f"The test does not accept {n_rejected} of {len(RIGHT)} right classes and rejects "
            f"{n_caught} of {len(wrong)} wrong ones.",
            "de": f"Der Test akzeptiert {n_rejected} von {len(RIGHT)} richtigen Klassen nicht und verwirft "
            f"{n_caught} von {len(wrong)} falschen.",
        }
        raise Wrong(f"unexpected: {errors}", share=share, told=told) from error


@check(
    points=4,
    title={
        "en": "Wrong classes are caught and right ones are not",
        "de": "Falsche Klassen werden erwischt und richtige nicht",
    },
    seconds=SECONDS,
)
def all(student, reference, draw):  # noqa: A001 - the item's id
    compare(student, draw, WRONG, in_proportion=True)


@check(
    points=1,
    title={
        "en": "All classes with wrong masks are caught",
        "de": "Alle Klassen mit falschen Masken werden erwischt",
    },
    seconds=SECONDS,
)
def masks(student, reference, draw):
    compare(student, draw, GROUPS["mask"])


@check(
    points=1,
    title={
        "en": "All classes with wrong scaling are caught",
        "de": "Alle Klassen mit falscher Skalierung werden erwischt",
    },
    seconds=SECONDS,
)
def scaling(student, reference, draw):
    compare(student, draw, GROUPS["scaling"])


@check(
    points=1,
    title={
        "en": "All classes that mix up the sequences of a batch are caught",
        "de": "Alle Klassen, die Folgen eines Batches vermischen, werden erwischt",
    },
    seconds=SECONDS,
)
def batches(student, reference, draw):
    compare(student, draw, GROUPS["batch"])


ITEMS = ("all", "masks", "scaling", "batches")
START = "    torch.manual_seed(1)\n"
COMPARED = "torch.allclose(layer(query, key, value, allowed), wanted, atol=1e-5)"

CONSTANT = {
    "en": "The test says the same of every class.",
    "de": "Der Test sagt zu jeder Klasse dasselbe.",
}
mutant("always True", START, "    return True\n", title=CONSTANT, loses=ITEMS)
mutant("always False", START, "    return False\n", title=CONSTANT, loses=ITEMS)
mutant(
    "shapes only",
    COMPARED,
    "layer(query, key, value, allowed).shape == wanted.shape",
    title={
        "en": "The test accepts wrong numbers if their shape is right.",
        "de": "Der Test lässt falsche Zahlen durchgehen, wenn ihre Form stimmt.",
    },
    loses=ITEMS,
)
mutant(
    "without a mask",
    "(None, mask)",
    "(None,)",
    title={
        "en": "The test accepts classes in which a blocked key still matters.",
        "de": "Der Test lässt Klassen durchgehen, in denen ein gesperrter Key doch etwas ausmacht.",
    },
    loses=["all", "masks", "batches"],
)
mutant(
    "one sequence only",
    "    def heads",
    "    query, key, value, mask = query[:1], key[:1], value[:1], mask[:1]\n\n    def heads",
    title={
        "en": "The test accepts classes in which the sequences of a batch get mixed up.",
        "de": "Der Test lässt Klassen durchgehen, in denen Folgen eines Batches vermischt werden.",
    },
    loses=["all", "batches"],
)
mutant(
    "no tolerance",
    COMPARED,
    "torch.equal(layer(query, key, value, allowed), wanted)",
    title={
        "en": "The test rejects right classes that round in another way.",
        "de": "Der Test verwirft richtige Klassen, die anders runden.",
    },
    loses=ITEMS,
)

planted("a number", "def audit(cls):\n    return 1\n", loses=ITEMS)
planted("nothing", "def audit(cls):\n    pass\n", loses=ITEMS)
planted("raises", "def audit(cls):\n    raise AssertionError(cls)\n", loses=ITEMS)
planted(
    "decides by looks",
    """
def audit(cls):
    return repr(cls) + cls.__name__ + cls.__module__ + str(len(cls.forward.__code__.co_code)) > "a text"
""",
    loses=ITEMS,
)
planted(
    "decides by the source",
    "import inspect\n\ndef audit(cls):\n    return 'softmax' in inspect.getsource(cls)\n",
    loses=ITEMS,
)
planted(
    "decides by the order of calls",
    """
def audit(cls):
    audit.calls = getattr(audit, "calls", 0) + 1
    return audit.calls <= 8
""",
    loses=ITEMS,
)
