"""Rewriting a listing: exactly one place, formatting kept, and clear words where it cannot be."""

from __future__ import annotations

import pytest

from reference.faults.fault import Fault, by_id, compatible, plant
from reference.faults.rewrite import Edit, rewritten

SOURCE = '''\
class Layer:
    """A layer."""

    def forward(self, x):
        # first the state
        y = self.norm(x + self.drop(x))  # (batch, width)

        if y is not None:
            y = y * 2
        return y

    def other(self, x):
        y = self.norm(x)
        return y
'''


def fault(name: str, right: str, faulty: str, site: str = "Layer.forward") -> Fault:
    """A fault of one edit."""
    return Fault(name, (Edit(site, right, faulty),), {"en": name}, "probe")


def test_an_expression_is_exchanged_and_everything_else_stays() -> None:
    """Comments, blank lines and the rest of the line are kept."""
    got = rewritten(SOURCE, Edit("Layer.forward", "x+self.drop( x )", "self.drop(x)"))
    assert SOURCE.replace("x + self.drop(x)", "self.drop(x)") == got


def test_a_statement_is_exchanged_by_several_or_removed() -> None:
    """A block that would be empty gets a ``pass``; the comment above a statement stays."""
    got = rewritten(SOURCE, Edit("Layer.forward", "y = y * 2", ""))
    assert SOURCE.replace("y = y * 2", "pass") == got
    got = rewritten(SOURCE, Edit("Layer.forward", "y = self.norm(x + self.drop(x))", "y = x\ny = y + 1"))
    assert "# first the state\n        y = x\n        y = y + 1\n" in got


def test_only_the_site_is_searched() -> None:
    """The same code in another method is neither counted nor changed."""
    got = rewritten(SOURCE, Edit("Layer.other", "return y", "return x"))
    assert got.count("return y") == 1


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (Edit("Layer.forward", "z", "x"), "expected 'z' once in 'Layer.forward', found 0"),
        (Edit("Layer.forward", "x", "z"), "found 3"),
        (Edit("Layer.forward", "y = (", "z"), "not Python"),
        (Edit("Layer.backward", "return y", ""), "found 0"),
        (Edit("Layer.forward", "", "z = 1"), "does not say"),
    ],
)
def test_what_cannot_be_done_is_said(edit: Edit, said: str) -> None:
    """Nothing is exchanged silently at the wrong place, or nowhere."""
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        rewritten(SOURCE, edit)


def test_faults_at_one_place_are_not_compatible() -> None:
    """Two edits of the same expression cannot both be made; edits of different ones can."""
    one = fault("one", "x + self.drop(x)", "x")
    other = fault("other", "x + self.drop(x)", "self.drop(x)")
    third = fault("third", "return y", "return x")
    assert not compatible(SOURCE, one, other)
    assert compatible(SOURCE, one, third)
    with pytest.raises(ValueError, match="fault 'other' beside one"):
        plant(SOURCE, (one, other))


def test_an_unknown_id_is_named() -> None:
    """The catalogue says what it knows."""
    one = fault("one", "x", "y")
    assert (one,) == by_id((one,), ["one"])
    with pytest.raises(ValueError, match="unknown faults two; known are: one"):
        by_id((one,), ["two"])


CALL = """\
def forward(self, x):
    return self.block(x, self.key(x), value=(x + 1), mask=None)  # all of it
"""


def call_edit(right: str, faulty: str) -> Edit:
    """An edit of the one call."""
    return Edit("forward", right, faulty)


def test_an_ellipsis_stands_for_any_code_and_keeps_it() -> None:
    """What ``...`` stood for is put where the faulty code has one, in order, its formatting kept."""
    got = rewritten(
        CALL, call_edit("self.block(..., ..., value=..., mask=None)", "self.block(..., ..., mask=...)")
    )
    assert CALL.replace("value=(x + 1), mask=None", "mask=(x + 1)") == got
    got = rewritten(CALL, call_edit("... + 1", "..."))
    assert CALL.replace("(x + 1)", "x") == got


def test_an_ellipsis_does_not_stand_for_several_arguments() -> None:
    """A call with another number of arguments, another name or another keyword does not fit."""
    for right in (
        "self.block(..., mask=None)",
        "self.lock(..., ..., value=..., mask=None)",
        "self.block(..., ..., values=..., mask=None)",
        "self.block(..., x, value=..., mask=None)",
    ):
        with pytest.raises(ValueError, match="found 0"):
            rewritten(CALL, call_edit(right, "x"))


def test_edits_of_different_arguments_are_compatible() -> None:
    """Each changes its own argument, in either order; two of the same argument exclude each other."""
    key, value, other = (
        Fault(name, (call_edit(right, faulty),), {"en": name}, "probe")
        for name, right, faulty in (
            (
                "key",
                "self.block(..., self.key(x), value=..., mask=...)",
                "self.block(..., x, value=..., mask=...)",
            ),
            (
                "value",
                "self.block(..., ..., value=x + 1, mask=...)",
                "self.block(..., ..., value=x, mask=...)",
            ),
            (
                "other",
                "self.block(..., ..., value=x + 1, mask=...)",
                "self.block(..., ..., value=2, mask=...)",
            ),
        )
    )
    assert compatible(CALL, key, value)
    assert not compatible(CALL, value, other)
    assert "self.block(x, x, value=x, mask=None)  # all of it" in plant(CALL, (value, key))


@pytest.mark.parametrize(
    ("right", "faulty", "made"),
    [
        ("a + b", "a - b", "(a - b) * c"),
        ("a + b", "a", "a * c"),
        ("(...) * c", "...", "(a + b)"),
        ("... * c", "c / ...", "c / (a + b)"),
        ("... * c", "f(...)", "f((a + b))"),
    ],
)
def test_brackets_stay_where_they_are_needed(right: str, faulty: str, made: str) -> None:
    """What is put into a larger expression keeps its meaning there."""
    source = "def scaled(a, b, c):\n    return (a + b) * c\n"
    after = rewritten(source, Edit("scaled", right, faulty))
    assert f"def scaled(a, b, c):\n    return {made}\n" == after
