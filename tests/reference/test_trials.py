"""The planted answers to the exam's questions about code."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest

from reference.faults import attention, decoder

ITEMS = {
    decoder.trials: set(decoder.EXAM),
    attention.trials: {"parameters", "construct", "self", "cross", "padding", "causal", "blocked"},
}


@pytest.mark.parametrize("planted", ITEMS, ids=lambda function: function.__module__)
def test_each_planted_answer_is_a_text_of_its_own(planted: Callable[[], list[dict[str, Any]]]) -> None:
    """Every answer is Python with the class in it, no two are the same, and no name stands twice."""
    found = planted()
    for trial in found:
        classes = [node.name for node in ast.parse(trial["source"]).body if isinstance(node, ast.ClassDef)]
        assert {"Decoder", "MyMultiHeadAttention"} & set(classes), trial["name"]
    assert len(found) == len({trial["name"] for trial in found}) == len({trial["source"] for trial in found})


@pytest.mark.parametrize("planted", ITEMS, ids=lambda function: function.__module__)
def test_every_item_has_a_mistake_and_every_question_an_alternative(
    planted: Callable[[], list[dict[str, Any]]],
) -> None:
    """Each rubric item is lost by one planted answer at least; some answers lose nothing."""
    found = planted()
    assert ITEMS[planted] == {item for trial in found for item in trial["loses"]}
    assert sum(not trial["loses"] for trial in found) >= 5
