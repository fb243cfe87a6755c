"""Test that solutions, mutants and planted answers in shipped checks lose exactly the stated items."""

from __future__ import annotations

import pytest

from tests.support.checked import list_answers, open_program, run_checks

FILES = {
    **dict.fromkeys(("top_k", "top_p", "no_repeat", "chain", "sample", "greedy", "beam", "memorisation"), ""),
    "trainer": "learns",
}
"""File → a check that does not name mistakes."""
STATED = [
    pytest.param(file, *answer, id=f"{file}: {name}")
    for file in FILES
    for name, answer in list_answers(file).items()
]


@pytest.mark.slow
@pytest.mark.parametrize(("file", "source", "loses", "name"), STATED)
def test_stated_answer_loses_its_checks_and_is_named(
    file: str, source: str, loses: tuple[str, ...] | None, name: str
) -> None:
    """A mutant with a title is named."""
    with open_program(file) as program:
        checked = run_checks(program, source, name_mistakes=True)
    assert not checked.unclear
    assert checked.lost if loses is None else checked.lost == set(loses), checked.outcomes
    for (check, _), outcome in checked.outcomes.items():
        if name and check in checked.lost - {FILES[file]}:
            assert outcome.mistakes[:1] in ((name,), ("crossing excluded",)), outcome


@pytest.mark.parametrize("file", FILES)
def test_every_check_is_lost_by_a_stated_answer(file: str) -> None:
    """Every check fails for some stated answer; otherwise it would test nothing."""
    with open_program(file) as program:
        checks = {check.id for check in program.file.checks}
    assert checks == {check for _, loses, _ in list_answers(file).values() for check in loses or checks}
