"""What a class writes in tasks 1, 2 and 4, where the answer is not a formula about parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec

from autograder.demo.formulas import Sample

HALF, ONE = Decimal("0.5"), Decimal(1)

_PLACES = tuple(
    f"{place}, {what}"
    for place in ("encoder self-attention", "decoder self-attention", "cross-attention")
    for what in ("queries", "keys and values")
)
_SOURCES = ("encoder", "encoder", "decoder", "decoder", "decoder", "encoder")
_SOURCE_ITEMS = (
    "encoder-queries", "encoder-keys", "decoder-queries", "decoder-keys", "cross-queries", "cross-keys",
)  # fmt: skip
_WAYS = ("pre-training", "fine-tuning", "zero-shot", "one-shot")
_BEGINS = ("random", "pre-trained", "pre-trained", "pre-trained")
_CHANGES: tuple[tuple[str, ...], ...] = (("all",), ("all", "some"), ("none",), ("none",))
CAUSES: Mapping[str, tuple[str, ...]] = {
    "task4-d": ("typical",),
    "task4-e": ("rare",),
    "task4-f": ("own error",),
    "task4-g": ("surface",),
}
"""By question: causes that are right."""


def _tasks(*names: str, points: str = "1", portrait: str = "") -> Sample:
    listed = ", ".join(f'"{name}"' for name in names)
    return Sample(f"sequence_tasks = [{listed}]", {"tasks": Decimal(points)}, portrait)


def _sources(*given: str, portrait: str = "") -> Sample:
    lines = "".join(
        f'    "{place}": "{source}",\n' for place, source in zip(_PLACES, given, strict=True) if source
    )
    earned = {
        item: HALF if source.casefold() == right else Decimal(0)
        for item, source, right in zip(_SOURCE_ITEMS, given, _SOURCES, strict=True)
    }
    return Sample(f"sources = {{\n{lines}}}", earned, portrait)


def _shapes(
    queries: str, scores: str, context: str, output: str, *, right: str, portrait: str = ""
) -> Sample:
    names = ("queries", "scores", "context", "output")
    given = (queries, scores, context, output)
    source = "\n".join(f'{name}_shape = "{shape}"' for name, shape in zip(names, given, strict=True))
    return Sample(source, {name: HALF if name in right else Decimal(0) for name in names}, portrait)


def _weights(first: str, second: str, third: str, fourth: str, portrait: str = "") -> Sample:
    given = dict(enumerate((first, second, third, fourth), start=1))
    asked = zip(
        ("queries", "keys", "scaled", "values"), given.values(), ("yes", "no", "no", "no"), strict=True
    )
    same = {"ja": "yes", "nein": "no"}
    earned = {item: HALF if same.get(tick, tick) == right else Decimal(0) for item, tick, right in asked}
    return Sample(f"weights_change = {given}", earned, portrait)


def _orders(attention: str, recurrent: str, points: tuple[str, str], portrait: str = "") -> Sample:
    source = f'attention_operations = "{attention}"\nrecurrent_operations = "{recurrent}"'
    earned = {"attention": Decimal(points[0]), "recurrent": Decimal(points[1])}
    return Sample(source, earned, portrait)


def _single(name: str, item: str, value: str, points: str = "1", portrait: str = "") -> Sample:
    return Sample(f"{name} = {value}", {item: Decimal(points)}, portrait)


def _uses(begins: Sequence[str], changes: Sequence[str], portrait: str = "") -> Sample:
    source = "\n".join(
        f"{name} = {dict(zip(_WAYS, given, strict=True))}"
        for name, given in (("begins_with", begins), ("changes", changes))
    )
    earned = {
        f"{way}-begins": HALF if given == right else Decimal(0)
        for way, given, right in zip(_WAYS, begins, _BEGINS, strict=True)
    }
    earned |= {
        f"{way}-changes": HALF if given in right else Decimal(0)
        for way, given, right in zip(_WAYS, changes, _CHANGES, strict=True)
    }
    return Sample(source, earned, portrait)


def _cause(part: str, cause: str) -> Sample:
    right = cause in CAUSES[f"task4-{part}"]
    portrait = "" if right else f"blames “{cause}” in ({part})"
    return Sample(f'cause_{part} = "{cause}"', {"cause": ONE if right else Decimal(0)}, portrait)


def _causes(*, right: bool) -> dict[str, tuple[Sample, ...]]:
    wrong = {
        "d": ("rare", "wrong data"),
        "e": ("no abstaining", "typical"),
        "f": ("typical", "false premise"),
        "g": ("sampling", "false premise"),
    }
    return {
        question: tuple(_cause(question[-1], cause) for cause in (named if right else wrong[question[-1]]))
        for question, named in CAUSES.items()
    }


def told_apart(samples: dict[str, Sample | None]) -> None:
    """Take the point from every cause of task 4 that an earlier part named already."""
    named: set[str] = set()
    for question in CAUSES:
        sample = samples[question]
        if sample is None:
            continue
        cause = sample.source.partition('"')[2].rstrip('"')
        if cause in named:
            portrait = f"names “{cause}” twice"
            samples[question] = msgspec.structs.replace(
                sample, points={"cause": Decimal(0)}, portrait=portrait
            )
        named.add(cause)


RIGHT: Mapping[str, tuple[Sample, ...]] = {
    "task1-b": (
        _tasks("summarisation", "dialogue"),
        _tasks("speech recognition", "Zusammenfassung"),
        _tasks("question answering", "grammatical error correction"),
        _tasks("chatbots", "text simplification"),
    ),
    "task1-d": (
        _sources("encoder", "encoder", "decoder", "decoder", "decoder", "encoder"),
        _sources("Encoder", "Encoder", "Decoder", "Decoder", "Decoder", "Encoder"),
    ),
    "task1-e": (
        _shapes(
            "(batch, n_heads, n, d_head)", "(batch, n_heads, n, n)",
            "(batch, n_heads, n, d_head)", "(batch, n, d_model)",
            right="queries scores context output",
        ),
        _shapes(
            "(b, h, n, d_k)", "(b, h, n, n)", "(b, h, n, d_k)", "(b, n, d)",
            right="queries scores context output",
        ),
        _shapes(
            "batch × n_heads × n × d_model/n_heads", "batch × n_heads × n × n",
            "batch × n_heads × n × d_model/n_heads", "batch × n × n_heads·d_head",
            right="queries scores context output",
        ),
    ),
    "task1-f": (_weights("yes", "no", "no", "no"), _weights("ja", "nein", "nein", "nein")),
    "task1-g": (
        _orders("O(n^2*d)", "O(n*d^2)", ("1", "1")),
        _orders("O(n²·d)", "O(n·d²)", ("1", "1")),
        _orders("n^2 d + n d^2", "n d^2", ("1", "1")),
        _orders("Θ(n*d*n)", "O(d**2 * n)", ("1", "1")),
    ),
    "task1-h": (
        _single("parallel_time", "order", '"O(1)"'),
        _single("parallel_time", "order", '"Θ(1)"'),
        _single("parallel_time", "order", '"1"'),
    ),
    "task2-c": (_single("same_vector", "tick", '"yes"'), _single("same_vector", "tick", '"ja"')),
    "task2-d": (
        _uses(_BEGINS, ("all", "all", "none", "none")),
        _uses(_BEGINS, ("all", "some", "none", "none")),
    ),
    "task2-f": (
        _single("output_layer_parameters", "number", "2307"),
        _single("output_layer_parameters", "number", "768 * 3 + 3"),
        _single("output_layer_parameters", "number", '"2,307"'),
    ),
    "task2-h": (_single("trained", "trained", '"prompt vectors"'),),
    **_causes(right=True),
}  # fmt: skip
WRONG: Mapping[str, tuple[Sample, ...]] = {
    "task1-b": (
        _tasks("sentiment analysis", "summarisation", points="0.5", portrait="takes a label for a text"),
        _tasks("machine translation", "POS tagging", points="0", portrait="names translation again"),
        _tasks("dialogue", points="0.5", portrait="names one task only"),
        _tasks("dialogue", "weather reports in verse", points="0", portrait="has an idea of their own"),
    ),
    "task1-d": (
        _sources(
            "encoder", "encoder", "decoder", "decoder", "encoder", "decoder",
            portrait="turns cross-attention round",
        ),
        _sources(
            "embeddings", "embeddings", "decoder", "decoder", "decoder", "encoder",
            portrait="takes bare embeddings",
        ),
    ),
    "task1-e": (
        _shapes(
            "(batch, n, n_heads, d_head)", "(batch, n_heads, n, n)", "(batch, n_heads, n, d_head)",
            "(batch, n, d_model)", right="scores context output", portrait="leaves the heads behind",
        ),
        _shapes(
            "(batch, n, d_model)", "(batch, n, n)", "(batch, n, d_model)", "(batch, n, d_model)",
            right="output", portrait="forgets the heads",
        ),
    ),
    "task1-f": (
        _weights("yes", "yes", "no", "no", "overlooks the shift of softmax"),
        _weights("yes", "yes", "yes", "yes", "says that everything changes"),
        _weights("nein", "nein", "nein", "ja", "takes the output for the weights"),
    ),
    "task1-g": (
        _orders("O(n^2)", "O(n*d)", ("0", "0"), "drops the width"),
        _orders("O(n*d^2)", "O(n^2*d)", ("0", "0"), "swaps the two layers"),
        _orders("O(n^2*d)", "O(d^2)", ("1", "0"), "forgets the steps"),
    ),
    "task1-h": (
        _single("parallel_time", "order", '"O(n)"', "0", "waits for the token before"),
        _single("parallel_time", "order", '"O(n^2)"', "0", "counts operations for time"),
        _single("parallel_time", "order", '"O(log n)"', "0", "adds in a tree"),
    ),
    "task2-c": (_single("same_vector", "tick", '"no"', "0", "imagines an order"),),
    "task2-d": (
        _uses(_BEGINS, ("all", "all", "none", "some"), "trains by a prompt"),
        _uses(
            ("random", "random", "pre-trained", "pre-trained"), ("all", "all", "none", "none"),
            "fine-tunes from nothing",
        ),
    ),
    "task2-f": (
        _single("output_layer_parameters", "number", "2304", "0.5", "forgets the biases"),
        _single("output_layer_parameters", "number", "768 * 3 + 768", "0.5", "takes a bias for each input"),
        _single("output_layer_parameters", "number", "771", "0", "adds where to multiply"),
    ),
    "task2-h": (
        _single("trained", "trained", '"wording of the prompt"', "0", "takes tuning for wording"),
        _single("trained", "trained", '"all weights"', "0", "takes prompt tuning for fine-tuning"),
    ),
    **_causes(right=False),
}  # fmt: skip
