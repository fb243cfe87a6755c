"""The assignment ``attention`` in real boxes: time, output and endings cost what they must, and no more."""

from __future__ import annotations

import pytest

from autograder.checks.base import Draw, Evidence
from autograder.kinds import make_check
from autograder.messages import languages, render
from autograder.records import Answer, Cell, Ending, ItemResult, Limits, Note
from autograder.sandbox.base import Sandbox
from autograder.sandbox.session import Session
from tests.demo.marking import SECRET, shipped
from tests.support.attention_classes import COMPILED, PLAIN

pytestmark = [pytest.mark.sandbox, pytest.mark.apart]
LIMITS = Limits(call_seconds=1, submission_seconds=60)


def sit(sandbox: Sandbox, source: str) -> tuple[dict[str, ItemResult], list[Note]]:
    """The results of an answer by item, and the notes of its run."""
    rubric = shipped("attention")
    question = rubric.question("mha")
    check = make_check(question, rubric)
    draw = Draw.for_question(SECRET, rubric, question)
    given = Answer(question.answer_cell, "code", source, changed=True)
    with Session(sandbox, (Cell(source, question.answer_cell),), LIMITS) as session:
        session.run()
        observed = session.ask(check.plan(given, draw))
    results = check.judge(Evidence(given, observed, draw=draw))
    return {one.item: one for one in results}, session.notes


def codes(results: dict[str, ItemResult]) -> dict[str, str]:
    """Item → code, of what was lost."""
    return {name: one.code for name, one in results.items() if one.points < one.possible}


LOUD = {
    "print": "print('line', i, 'x' * 60)",
    "print to standard error": "print('line', i, 'x' * 60, file=sys.stderr)",
    "a logger made in a cell": "LOG.warning('line %d %s', i, 'x' * 60)",
    "the stream of the cell": "OUT.write(f'line {i} {60 * chr(120)}')",
}


@pytest.mark.parametrize("line", LOUD.values(), ids=LOUD)
def test_lines_that_are_printed_cost_nothing(torch_sandbox: Sandbox, line: str) -> None:
    """Ten thousand lines in each pass, however they are printed."""
    loud = PLAIN.replace(
        "        def heads(x):",
        f"        for i in range(10_000):\n            {line}\n        def heads(x):",
        1,
    )
    head = "import logging, sys\nlogging.basicConfig(stream=sys.stdout)\n"
    head += "LOG, OUT = logging.getLogger(), sys.stdout\n"
    results, notes = sit(torch_sandbox, head + loud)
    assert {} == codes(results)
    assert [] == notes


def test_code_that_asks_for_a_compiler_runs(torch_sandbox: Sandbox) -> None:
    """``torch.compile`` runs the code as it is written; staff reads so, and nothing is lost."""
    for source in (
        COMPILED,
        PLAIN.replace("\n    def forward(", "        self.compile()\n\n    def forward(", 1),
        PLAIN + "\n\nMyMultiHeadAttention = torch.compile(MyMultiHeadAttention)\n",
    ):
        results, notes = sit(torch_sandbox, source)
        assert {} == codes(results)
        compiles = "torch.compile" in source
        assert (["uncompiled"] if compiles else []) == [note.code for note in notes]


def test_a_forward_pass_that_hangs_costs_no_item_about_the_constructor(torch_sandbox: Sandbox) -> None:
    """What only constructs is asked before; what is told of passes says so, and says nothing of spelling."""
    hanging = PLAIN.replace("        def heads(x):", "        while True: pass\n        def heads(x):", 1)
    results, _ = sit(torch_sandbox, hanging)
    assert "construct" not in codes(results)
    for name, one in results.items():
        for language in languages():
            text = render(one.student, language)
            if one.code == "ending.call-time":
                start = {"en": "A pass of MyMulti", "de": "Ein Durchlauf von MyMulti"}[language]
                assert text.startswith(("MyMultiHeadAttention [", start)), (name, text)
                assert {"en": "download", "de": "Download"}[language] in text
    told = {one.code for name, one in results.items() if name != "construct"}
    assert {"ending.call-time", "ending.not-asked"} >= told
    assert "ending.call-time" in told


def test_a_slow_case_costs_that_case_alone(torch_sandbox: Sandbox) -> None:
    """A pass that takes too long with one size loses what asks for it; what was seen before stands."""
    slow = PLAIN.replace(
        "        def heads(x):",
        "        while key.shape[1] != query.shape[1]: pass\n        def heads(x):",
        1,
    )
    results, _ = sit(torch_sandbox, slow)
    assert {"cross"} <= set(codes(results))
    assert "self" not in codes(results)
    assert "padding" not in codes(results)


def test_many_quick_calls_may_take_longer_than_one(torch_sandbox: Sandbox) -> None:
    """What bounds a call bounds each, not all that build on one another: nine passes of 0.3 of one second."""
    busy = PLAIN.replace(
        "        def heads(x):",
        "        import time\n        end = time.process_time() + 0.3\n"
        "        while time.process_time() < end: pass\n        def heads(x):",
        1,
    )
    results, notes = sit(torch_sandbox, busy)
    assert {} == codes(results)
    assert [] == notes
    assert Ending.CALL_TIME.value not in str(notes)
