"""The repair question of tests: a rubric of its own, and a listing sitting it in this process."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence

import msgspec

from autograder import rubric
from autograder.checks.base import Draw, Evidence, Observations
from autograder.kinds.transformers.repair import RepairCheck
from autograder.records import Answer, ItemResult
from reference.faults import decoder
from reference.faults.decoder import EXAM as FAULT_IDS
from reference.listings import GIVEN, RIGHT
from tests.support.local_box import LocalBox

DRAW = Draw(b"repair" * 5 + b"::")
ITEM = '[[question.item]]\nid = "{fault}"\npoints = 1\ntext = {{ en = "{fault}" }}\n'


def asked(faults: Collection[str]) -> str:
    """One item of one point for each fault."""
    return "\n".join(ITEM.format(fault=fault) for fault in faults)


def read(items: str = "", *, question: str = 'answer = "Decoder"', points: int = 8) -> rubric.Rubric:
    """A rubric with one repair question; by default of eight items and without a reference."""
    items = items or asked(FAULT_IDS)
    head = f'version = 1\n[assignment]\nname = "exam"\npoints = {points}\n'
    text = f'{head}[[question]]\nid = "repair"\nkind = "repair"\npoints = {points}\n{question}\n{items}'
    return rubric.parse(text.encode())


def listing(repaired: Collection[str] = ()) -> str:
    """The exam's answer cell with some of the eight faults repaired; by default as students receive it."""
    return decoder.listing([fault for fault in FAULT_IDS if fault not in repaired])


def check(items: str = "", *, question: str = 'answer = "Decoder"', points: int = 8) -> RepairCheck:
    """The check of that question."""
    made = read(items, question=question, points=points)
    return RepairCheck(made.questions[0], made)


@functools.cache
def check_of(faults: tuple[str, ...]) -> RepairCheck:
    """The check of a question with these faults."""
    return check(asked(faults), points=len(faults))


def answer(source: str, *, changed: bool = True) -> Answer:
    """What stands in the answer cell."""
    return Answer("repair-answer", "code", source, changed)


def evidence(
    source: str, observed: Sequence[Observations], expected: Sequence[Observations] = ()
) -> Evidence:
    """What the judgement sees of a changed answer."""
    return Evidence(answer(source), observed, expected, draw=DRAW)


def sit(
    source: str, *later: str, made: RepairCheck | None = None, draw: Draw = DRAW
) -> dict[str, ItemResult]:
    """The results of one answer cell, by item; ``later`` are cells that are run after it."""
    made = made or check()
    box = LocalBox(GIVEN, source, *later)
    observed = box.ask(made.plan(answer(source), draw))
    expected = LocalBox(GIVEN, RIGHT).ask(made.reference_plan(draw))
    first = Evidence(answer(source), observed, expected, draw=draw)
    again = box.ask(made.second_round(first).student)
    results = made.judge(msgspec.structs.replace(first, again=again))
    return {result.item: result for result in results}
