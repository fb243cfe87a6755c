"""Test the checks of the measures of memorisation on results and reports of every form."""

from __future__ import annotations

import pytest

from tests.support.checked import CheckedAnswer, open_program, read_file, run_checks

SOURCE = read_file("memorisation").solution


def run(source: str) -> CheckedAnswer:
    with open_program("memorisation") as program:
        return run_checks(program, source)


RESULTS = {
    "nothing": "None",
    "a list": "[]",
    "no entries": "{}",
    "a text": "{'longest': '5', 'share': '0'}",
    "truth values": "{'longest': True, 'share': True}",
    "huge": "{'longest': 10 ** 5000, 'share': 10 ** 5000}",
    "an array": "{'longest': [0, 0], 'share': [0.0]}",
    "NaN": "{'longest': float('nan'), 'share': float('nan')}",
    "infinite": "{'longest': float('inf'), 'share': float('inf')}",
    "negative": "{'longest': -1, 'share': -1.0}",
    "zero": "{'longest': 0, 'share': 0.0}",
}


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_no_measure_earns_nothing(result: str) -> None:
    checked = run(f"def memorisation(generated, corpus, n): return {result}")
    assert checked.lost == {"longest", "share", "report"}
    assert not checked.unclear, checked.outcomes


REPORTS = {
    "a number": ("report = 3", True),
    "a text": ("report['tokens'] = 'the owl'", True),
    "too long": ("report['tokens'] = list(range(5000))", True),
    "too short": ("report['tokens'] = [1]; report |= memorisation([1], [[1]], 3)", True),
    "other numbers": ("report['longest'] += 1", True),
    "numbers of another text": ("report['tokens'] *= 2", True),
    "a number is missing": ("del report['share']", True),
    "huge tokens": ("report['tokens'] = [10 ** 300] * 12", True),
    "nothing": ("report = None", True),
    "no report": ("del report", True),
    "a tensor": ("import torch; report['tokens'] = torch.tensor(report['tokens'])", False),
    "rounded": ("report['share'] = 0.619", False),
    "more entries": ("report['text'] = 'the owl'", False),
}


@pytest.mark.parametrize(("change", "is_lost"), REPORTS.values(), ids=REPORTS)
def test_report_is_measured_again(change: str, *, is_lost: bool) -> None:
    checked = run(f"{SOURCE}\n{change}\n")
    assert checked.lost == ({"report"} if is_lost else set()), checked.outcomes
    assert not checked.unclear
