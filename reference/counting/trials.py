"""Planted answers to the counting questions of the practice assignment that are no tables.

`CONFIGS` are the configurations of the rubric's questions; a test compares the two. A trial gives one entry
the number that a known mistake leads to; that item, and no other, must lose points. The last trial of a
question writes the right numbers in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from reference.counting import tasks
from reference.counting.catalogue import DECODERS
from reference.counting.mistakes import parameters, use
from reference.counting.mistakes.miscounts import Mistake, Task, wrong_numbers
from reference.counting.setting import Numbers, Setting

Trial = dict[str, Any]

CONFIGS: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    "experts": {"model": dict(DECODERS["Mixtral-8x7B"])},
    "cache": {
        "model": dict(DECODERS["Qwen2.5-7B"]),
        "length": 131_072,
        "batch": 3,
        "dtype": "bfloat16",
    },
    "work": {"model": dict(DECODERS["Llama-3-8B"]), "length": 8192, "batch": 5},
    "activations": {"model": dict(DECODERS["GPT-2"]), "length": 1024, "batch": 6},
})  # fmt: skip

OTHERWISE = frozenset((("experts", "all-experts-active"),))
"""Mistakes that the rubric has words of its own for."""


def experts() -> list[Trial]:
    """Of the question about a mixture of experts."""
    return list(
        _trials("experts", "mixtral", tasks.experts, parameters.EXPERTS, lambda number: f"{number:,}")
    )


def cache() -> list[Trial]:
    """Of the question about the key-value cache."""
    return list(_trials("cache", "cache", tasks.cache, use.CACHE, lambda number: f"{number / 2**30!r} GiB"))


def work() -> list[Trial]:
    """Of the question about operations."""
    return list(_trials("work", "flops", tasks.work, use.WORK, lambda number: f"{number / 1e15!r} PFLOPs"))


def activations() -> list[Trial]:
    """Of the question about activations."""
    forms = _trials(
        "activations", "activations", tasks.activations, use.ACTIVATIONS, lambda number: f"{number} B"
    )
    return list(forms)


def _trials(
    config: str, answer: str, task: Task, known: Sequence[Mistake], other: Callable[[int], str]
) -> Iterator[Trial]:
    setting = Setting.of(CONFIGS[config])
    right = task(setting)
    unit = {"experts": "", "work": " FLOPs"}.get(config, " bytes")
    wrong = {mistake.code: wrong_numbers(task, setting, mistake) for mistake in known}
    for code, numbers in wrong.items():
        for name, number in numbers.items():
            trial = _trial(f"{code}, {name}", answer, {**right, name: number}, unit, [name])
            near = [one for one in wrong.values() if abs(one.get(name, 0) - number) < number / 100]
            named = len(near) == 1 and (config, code) not in OTHERWISE
            yield {**trial, "codes": {name: f"counting.{code}"}} if named else trial
    yield _trial("the right numbers", answer, right, unit, [])
    rewritten = {name: other(number) for name, number in right.items()}
    yield {"name": "another notation", "source": f"{answer} = {rewritten!r}\n", "loses": []}


def _trial(name: str, answer: str, numbers: Numbers, unit: str, loses: list[str]) -> Trial:
    written = {key: f"{number}{unit}" if unit else number for key, number in numbers.items()}
    return {"name": name, "source": f"{answer} = {written!r}\n", "loses": loses}
