"""The references of counting questions: what is right, and what known mistakes lead to.

Each takes the ``config`` of its question and returns, as the autograder wants it::

    {"right": …, "mistakes": [{"code": …, "family": …, "values": …}, …]}

Memory and operations carry their unit, so that an answer may be in any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reference.counting import families, tasks
from reference.counting.mistakes import families as family_mistakes
from reference.counting.mistakes import parameters, use
from reference.counting.mistakes.miscounts import Mistake, Task, wrong_numbers
from reference.counting.setting import Setting

Config = Mapping[str, Any]
Answer = dict[str, Any]
Form = Callable[[str, int], Any]
"""How an entry of this name is written."""


def gpt2_matrices(config: Config) -> Answer:
    """A table of shapes and counts."""
    setting = Setting.of(config)
    answer = _answer(tasks.entries, setting, parameters.ENTRIES, _cell("count"))
    for name, shape in tasks.matrices(setting).items():
        answer["right"][name]["shape"] = list(shape)
    width, voc = setting.model.d_model, setting.model.n_voc
    for mistake in answer["mistakes"]:
        if mistake["code"] == "queries-only":
            mistake["values"]["c_attn"]["shape"] = [width, width]
        if mistake["code"] == "old-vocabulary":
            mistake["values"]["wte"]["shape"] = [voc - setting.added_tokens, width]
    return answer


def gpt2_tensors(config: Config) -> Answer:
    """A table of counts."""
    return _answer(tasks.tensors, Setting.of(config), parameters.TENSORS, _cell("count"))


def parts(config: Config) -> Answer:
    """A table of counts."""
    return _answer(tasks.parts, Setting.of(config), parameters.PARTS, _cell("count"))


def bert(config: Config) -> Answer:
    """A table of counts; the sizes are those of `families.Bert`."""
    return _answer(tasks.bert, families.Bert(**config), family_mistakes.BERT, _cell("count"))


def t5(config: Config) -> Answer:
    """A table of counts; the sizes are those of `families.T5`."""
    return _answer(tasks.t5, families.T5(**config), family_mistakes.T5, _cell("count"))


def encoder_decoder(config: Config) -> Answer:
    """A table of counts; the sizes are those of `families.EncoderDecoder`."""
    model = families.EncoderDecoder(**config)
    return _answer(tasks.encoder_decoder, model, family_mistakes.ENCODER_DECODER, _cell("count"))


def experts(config: Config) -> Answer:
    """Counts by entry."""
    return _answer(tasks.experts, Setting.of(config), parameters.EXPERTS, _number)


def cache(config: Config) -> Answer:
    """Bytes by entry."""
    return _answer(tasks.cache, Setting.of(config), use.CACHE, _bytes)


def work(config: Config) -> Answer:
    """FLOPs by entry."""
    return _answer(tasks.work, Setting.of(config), use.WORK, _operations)


def training_memory(config: Config) -> Answer:
    """A table of bytes."""
    return _answer(tasks.training_memory, Setting.of(config), use.TRAINING_MEMORY, _memory_cell)


def adapters(config: Config) -> Answer:
    """A table of counts."""
    return _answer(tasks.adapters, Setting.of(config), parameters.ADAPTERS, _cell("count"))


def activations(config: Config) -> Answer:
    """Bytes by entry."""
    return _answer(tasks.activations, Setting.of(config), use.ACTIVATIONS, _bytes)


def _answer(task: Task, setting: Any, known: Sequence[Mistake], form: Form) -> Answer:
    wrong = []
    for mistake in known:
        numbers = wrong_numbers(task, setting, mistake)
        values = {name: form(name, number) for name, number in numbers.items()}
        if values:
            wrong.append({"code": mistake.code, "family": mistake.family, "values": values})
    return {"right": {name: form(name, number) for name, number in task(setting).items()}, "mistakes": wrong}


def _number(_: str, number: int) -> int:
    return number


def _bytes(_: str, number: int) -> str:
    return f"{number} bytes"


def _operations(_: str, number: int) -> str:
    return f"{number} FLOPs"


def _cell(column: str) -> Form:
    return lambda _, number: {column: number}


def _memory_cell(name: str, number: int) -> Any:
    return {"memory": _bytes(name, number)}
