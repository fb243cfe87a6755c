"""Similarity of submissions: disguises that fail, what counts as evidence, and hostile input."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.core.records import Cell, Markdown
from autograder.marking.similarity.code_features import (
    MOST_CHARACTERS,
    collect_names,
    extract_form,
    parse_cell,
)
from autograder.marking.similarity.pairs import AlikePair, compute_weights, find_similar_pairs, to_percent
from autograder.marking.similarity.side_by_side import arrange_works
from autograder.marking.similarity.text_features import make_shingles
from autograder.marking.similarity.works import ComparedWork, FeatureExtractor, Work, WorkPiece, list_pieces
from tests.marking.copied_class import FORMS, copied_class, hidden

SOURCE = '''\
def attention(query, key, value, mask=None):
    """Scaled dot-product attention."""
    d_head = query.size(-1)  # the width of a head
    scores = query @ key.transpose(-2, -1) / d_head**0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(dim=-1)
    print("shape of the weights", weights.shape)
    return weights @ value, weights


def heads(x, n_heads):
    batch, length, width = x.shape
    return x.view(batch, length, n_heads, width // n_heads).transpose(1, 2)
'''
RENAMED = '''\
def my_att(Q, K, V, m=None):
    """Hier wird gewichtet."""
    w = Q.size(-1)
    s = Q @ K.transpose(-2, -1) / w**0.5
    if m is not None:
        s = s.masked_fill(m == 0, float("-inf"))
    p = s.softmax(dim=-1)
    print("Form", p.shape)
    return p @ V, p


def split_up(t, count):
    a, b, c = t.shape
    return t.view(a, b, count, c // count).transpose(1, 2)
'''
REORDERED = """\
def heads(x, n_heads):
    batch, length, width = x.shape
    return x.view(batch, length, n_heads, width // n_heads).transpose(1, 2)
def attention(query, key, value, mask=None):
    d_head = query.size(-1)
    scores = query @ key.transpose(-2, -1) / d_head**0.5
    if mask is not None:
        scores = scores.masked_fill(0 == mask, float('-inf'))
    weights = scores.softmax(dim=-1)
    print("shape of the weights", weights.shape)
    return weights @ value, weights
"""
REFORMATTED = """\
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    # Die Breite eines Kopfes
    d_head: int = query.size(
        -1
    )
    scores = (query @ key.transpose(-2, -1)) / d_head ** 0.5

    if mask is not None: scores = scores.masked_fill(mask == 0, float("-inf"))

    weights = scores.softmax(dim=-1); print("shape of the weights", weights.shape)
    return (weights @ value, weights)

def heads(x: Tensor, n_heads: int) -> Tensor:
    pass
    (batch, length, width) = x.shape
    return x.view(batch, length, n_heads, width // n_heads).transpose(1, 2)
"""
OTHER = """\
def attention(query, key, value, mask=None):
    import math
    out = []
    for one in range(query.shape[0]):
        s = torch.einsum("qd,kd->qk", query[one], key[one]).div(math.sqrt(query.shape[-1]))
        s += torch.where(mask[one].bool(), 0.0, -1e9)
        out.append(F.softmax(s, 1).mm(value[one]))
    return torch.stack(out)
"""


def features(source: str) -> frozenset[int]:
    """Return the feature digests of a single cell."""
    tree = parse_cell(source)
    return extract_form(source, tree, collect_names([tree] if tree else [])).features


def work(student: str, given: Sequence[WorkPiece] = (), **cells: str) -> ComparedWork:
    """Return a student's cells, as text if the name begins with ``text``, compared with the given cells."""
    pieces = tuple(
        WorkPiece(f"n/{name}", source, not name.startswith("text"), name) for name, source in cells.items()
    )
    return FeatureExtractor().extract_features(Work(student, pieces, tuple(given)))


@pytest.mark.parametrize(
    "copy", {"renamed": RENAMED, "reordered": REORDERED, "reformatted": REFORMATTED}.values()
)
def test_what_hides_nothing(copy: str) -> None:
    """Renaming, comments, strings, annotations, layout and reordered functions do not hide a copy."""
    assert features(SOURCE) == features(copy)


def test_another_way_to_write_it_is_another_work() -> None:
    """Different solutions share few digests."""
    first, second = features(SOURCE), features(OTHER)
    assert len(first & second) < 0.1 * min(len(first), len(second))


@pytest.mark.parametrize(
    ("source", "other", "same"),
    [
        ("a = 2 * x + y", "b = y + x * 2", True),
        ("a = f(x, k=1, j=2)", "a = f(x, j=2, k=1)", True),
        ("a = x > 3", "a = 3 < x", True),
        ("a = x - y", "a = y - x.y", False),
        ("import torch.nn as nn\na = nn.Linear(3, 4)", "from torch import nn as N\na = N.Linear(3, 4)", True),
        ("a = torch.relu(x) + 17", "a = torch.relu(x) + 18", False),
        ("a = torch.relu(x) + 17", "a = torch.tanh(x) + 17", False),
        ("class A:\n    def f(self): return self.g(1, 2)\n    def g(self, a, b): return a @ b",
         "class B:\n    def h(self, p, q): return p @ q\n    def k(self): return self.h(1, 2)", True),
    ],
)  # fmt: skip
def test_what_means_the_same(source: str, other: str, same: bool) -> None:
    """Equivalent notations have equal features, for example reordered sums, keywords or methods."""
    assert same is (features(source) == features(other))


def test_what_was_handed_out_is_nobodys() -> None:
    """Functions and sentences of the release do not count, even if a student continues them."""
    given_pieces = (
        WorkPiece("", SOURCE, is_code=True, label="a"),
        WorkPiece("", "Explain why the scores are scaled.", is_code=False, label="b"),
    )
    compared = work(
        "ada", given_pieces, code=SOURCE, text="Explain why the scores are scaled. They grow with the width."
    )
    assert [("text", 3)] == [(piece.piece.label, len(piece.features)) for piece in compared.pieces]
    more = work("ada", given_pieces, code=SOURCE + "\n\nz = attention(a, b, c)[0].sum() / 3\n")
    alone = work("ada", given_pieces, code="z = attention(a, b, c)[0].sum() / 3\n")
    assert more.pieces[0].features == alone.pieces[0].features != frozenset()


def test_names_of_what_was_handed_out_are_no_evidence() -> None:
    """A student's own names and comments count; short ones and those of the release do not."""
    given_pieces = (
        WorkPiece(
            "", "def attention(query):\n    # a comment of the course\n    pass", is_code=True, label="a"
        ),
    )
    source = (
        "def attention(query):\n    # a comment of the course\n"
        "    zebra, q = 1, 2  # My Very Own remark\n    return zebra"
    )
    assert {"zebra", "my very own remark"} == work("ada", given_pieces, code=source).words


def test_locked_cells_are_not_compared() -> None:
    """Only the student's cells are compared; added cells have no place in the release."""
    cells = (
        Cell("a = 1", "setup", locked=True),
        Cell("b = 2", "x"),
        Cell("c = 3"),
        Markdown("Words.", "y"),
        Cell(" "),
    )
    assert [("n/x", "x", True), ("", "cell 3", True), ("n/y", "y", False)] == [
        (piece.place, piece.label, piece.is_code) for piece in list_pieces("n", cells)
    ]


def test_text_by_shingles() -> None:
    """Sentence order, case and punctuation are ignored; a shingle does not cross sentences."""
    text = "The scores grow with the width. So they are divided by the root!"
    other = "so they are divided by the root; THE SCORES grow with the width"
    assert {shingle.digest for shingle in make_shingles(text)} == {
        shingle.digest for shingle in make_shingles(other)
    }
    assert 4 + 5 == len(make_shingles(text))
    assert [] == list(make_shingles("Only two."))
    first = make_shingles("It is $d_k$ wide, as said")[0]
    assert "It is $d_k$" == "It is $d_k$ wide, as said"[first.start : first.end]


def found_in(class_: Mapping[str, Mapping[str, str]], most: int = 200) -> tuple[AlikePair, ...]:
    """Return the similar pairs of a class."""
    comparing = FeatureExtractor()
    works = [
        comparing.extract_features(
            Work(
                student,
                tuple(
                    WorkPiece(f"gpt2/{cell}" if cell else "", text, cell != "strategies", cell or "own")
                    for cell, text in cells.items()
                    if text.strip()
                ),
            )
        )
        for student, cells in class_.items()
    ]
    return find_similar_pairs(works, most)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_planted_copies_stand_before_all_but_five(seed: int) -> None:
    """Ten copies with different disguises among 200 students are within the first fifteen pairs."""
    class_ = copied_class(200, seed)
    first = {frozenset(pair.students) for pair in found_in(class_.works, 15)}
    assert [] == [copy for copy in class_.copies if frozenset((copy.source, copy.copy)) not in first]


def test_planted_copies_of_a_small_class_stand_first() -> None:
    """Among 24 students, copies with each single disguise and with all disguises come first."""
    planted = (*(((form,), False) for form in FORMS), (FORMS, True))
    class_ = copied_class(24, 5, planted)
    first = {frozenset(pair.students) for pair in found_in(class_.works, len(planted) + 2)}
    assert [] == [copy for copy in class_.copies if frozenset((copy.source, copy.copy)) not in first]


def test_common_code_counts_for_nothing() -> None:
    """Code shared by most of a class is not evidence; code shared by only two students is."""
    own_source = (
        "for at in range(7, 90, 3):\n    zebra = at ** 2 - ape[at % 11] * lion(at, 5)\n    print(zebra, at)"
    )
    class_ = {f"s{at:02}": {"a": SOURCE} for at in range(20)}
    assert () == found_in(class_)
    class_["s03"] = {"a": SOURCE, "b": own_source}
    class_["s11"] = {"a": RENAMED, "b": hidden(own_source, ("reformatted",), random.Random(1))}
    pairs = found_in(class_)
    assert [("s03", "s11")] == [pair.students for pair in pairs]
    assert {"all", "code", "gpt2/b"} >= {part.name for part in pairs[0].parts}
    assert "gpt2/a" not in {part.name for part in pairs[0].parts}


def test_two_students_and_none() -> None:
    """A class of two students gives a pair; one student or none gives no pairs."""
    assert () == find_similar_pairs([])
    assert () == found_in({"a": {"x": SOURCE}})
    pairs = found_in({"a": {"x": SOURCE}, "b": {"x": RENAMED}})
    assert [("a", "b")] == [pair.students for pair in pairs]
    assert 0.5 < pairs[0].stands_out < 1
    assert (100, 1) == (pairs[0].percents[1], pytest.approx(pairs[0].share))


TEXT = (
    "The mask hides what comes later, so that a token is predicted from those before it alone. "
    "Without it the model would copy the next token, and its loss would say nothing about what it learned."
)


@pytest.mark.parametrize(
    "cells",
    [
        {"a": SOURCE},
        {"a": "x = 1"},
        {"a": "def f(n):\n    return n * 17 + len(str(n))"},
        {"a": SOURCE, "b": TEXT, "c": "print('done')"},
        {f"cell{number}": f"total_{number} = [{number}, {number} ** 3]" for number in range(60)},
    ],
    ids=["a cell", "a line", "a small function", "code and text", "many cells"],
)
@pytest.mark.parametrize("others", [0, 1, 12, 40])
def test_identical_works_are_the_same_to_100_percent(cells: dict[str, str], others: int) -> None:
    """Identical submissions are 100% similar at any length and class size; nearly identical ones are not."""
    class_ = {name: dict(own) for name, own in copied_class(max(others, 1), 3, ()).works.items()}
    class_ = dict(list(class_.items())[:others])
    class_ |= {"first": cells, "second": dict(cells)}
    for pair in found_in(class_):
        if pair.students == ("first", "second"):
            assert {100} == {to_percent(part.share) for part in pair.parts}
        assert all(part.share <= 1 for part in pair.parts)


DEEP = {
    "brackets": "(" * 5_000 + ")" * 5_000,
    "sum": "+".join(["x"] * 40_000),
    "attributes": "x" + ".y" * 40_000,
    "calls": "f" + "()" * 40_000,
    "minus": "-" * 50_000 + "1",
    "nested": "\n".join(" " * at + "if x:" for at in range(300)),
    "list": "a = [" + "1," * 70_000 + "]",
    "blocks": "x = = 1\n" * 15_000,
    "lines": "\n" * 140_000,
    "comments": "#" * 140_000,
    "comment lines": "# some words\n" * 10_000,
    "digits": "x = " + "9" * 100_000,
    "text": 'x = "' + "a b " * 30_000 + '"',
    "magic": "%%bash\nrm -rf /\n" * 5_000,
    "NUL": "x\0 = 1",
    "surrogate": "x = '\ud800'; y = \ud801",
    "marks": "x" + "\u0301" * 100_000 + " = 1",
    "too much": "x = 1\n" * MOST_CHARACTERS,
}


@pytest.mark.parametrize("name", DEEP)
@pytest.mark.slow
def test_hostile_code_stops_nobody(name: str) -> None:
    """Deep, huge or malformed code causes no error, and other pairs are still found."""
    hostile = work("eve", code=DEEP[name], text=DEEP[name])
    other = work("mallory", code=DEEP[name] + " ", text=DEEP[name])
    honest = [work("ada", code=SOURCE), work("bob", code=RENAMED), work("cem", code=OTHER)]
    pairs = find_similar_pairs([hostile, other, *honest])
    assert ("ada", "bob") in [pair.students for pair in pairs]
    found = {one.student: one for one in (hostile, other)}
    arrange_works(found["eve"], found["mallory"], compute_weights([hostile, other, *honest]))


def test_code_that_is_no_python_is_compared_by_its_words() -> None:
    """Code that does not parse is compared by its words, ignoring names."""
    line = "result = compute the mean of(values[3], weights) where x >= 17 and not (y"
    other = "r = berechne die summe von(v[3], w) where b >= 17 and not (c"
    assert features(line) == features(other) != frozenset()


@settings(max_examples=25)
@given(st.text(max_size=400), st.text(max_size=400))
def test_any_text_can_be_compared(one: str, other: str) -> None:
    """Any text can be compared as code and as text, also in the side-by-side view."""
    works = [work("a", code=one, text=one), work("b", code=other, text=other)]
    find_similar_pairs(works)
    for row in arrange_works(*works, compute_weights(works)):
        for shown in (row.first, row.second):
            assert shown is None or "<script" not in shown.text


def test_beside_each_other_the_same_number_marks_the_same_statement() -> None:
    """In the side-by-side view, equal numbers mark equal statements; matched functions get a single mark."""
    works = [work("a", x=SOURCE), work("b", x=RENAMED.replace("w = Q.size(-1)", "w = Q.size(1)"))]
    (row,) = arrange_works(*works, compute_weights(works))
    assert row.first is not None
    assert row.second is not None
    assert row.first.blocks == row.second.blocks
    heads = row.first.text.split("def heads")[0].rsplit("<sup>", 1)[1].split("</sup>")[0]
    split_up = row.second.text.split("def split_up")[0].rsplit("<sup>", 1)[1].split("</sup>")[0]
    assert heads == split_up
    assert "d_head = query.size(-1)" in row.first.text.split("<mark")[0]


def test_what_students_wrote_is_never_markup() -> None:
    """Students' code, texts and labels are escaped."""
    evil = "</pre><script>alert(1)</script> & a b c d e f"
    works = [work(name, x=f"zebra = {evil!r} + lion(1, 2, 3)", text=evil) for name in "ab"]
    rows = arrange_works(*works, compute_weights(works))
    assert 2 == len(rows)
    for row in rows:
        assert row.first is not None
        assert "<script" not in row.first.text
        assert "&lt;script&gt;" in row.first.text
