"""Tables of the outcomes of checks: without a sandbox, and of ``autograder verify --explain``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from autograder.checking.check_parser import CheckFile, name_part
from autograder.checking.runner import CheckOutcome

MARKS = {
    "passed": "✓",
    "wrong": "✗",
    "raised": "✗ raised",
    "missing": "✗ missing",
    "unreadable": "✗ file",
    "unclear": "? review",
}

NOT_RECOGNISED = (
    "The titles and points of these mutants never apply. Compare with assert_close or assert_equal of "
    "autograder.checking: what assert, pytest.approx, torch.testing and numpy.testing compare is not seen, "
    "and one truth value says too little."
)


class DeclaredAnswer(NamedTuple):
    """An answer in a file of checks, complete or as an edit of the solution."""

    name: str
    source: str
    loses: tuple[str, ...] | None
    """The checks that it must fail; None: at least one."""
    review: tuple[str, ...] = ()
    """The checks that must not decide."""
    mutant: str = ""
    """The mutant as which it must be recognised, if that has a title or earns points."""


class AnswerRow(NamedTuple):
    """The outcomes of one answer."""

    answer: DeclaredAnswer
    outcomes: Mapping[str, CheckOutcome]
    """By check, or check and part; see `name_part`."""


def list_answers(file: CheckFile) -> Iterator[DeclaredAnswer]:
    """Yield the solution, all mutants and planted answers, each fault left alone, and all faults."""
    if file.solution:
        yield DeclaredAnswer("solution", file.solution, ())
    for mutant in file.mutants:
        named = mutant.name if mutant.title or mutant.points else ""
        yield DeclaredAnswer(f"mutant {mutant.name}", mutant.source, mutant.loses, mutant=named)
    for planted in file.planted:
        yield DeclaredAnswer(f"planted {planted.name}", planted.source, planted.loses, planted.review)
    faults = [fault.id for fault in file.faults]
    for fault in faults:
        yield DeclaredAnswer(f"fault {fault}", file.make_listing([fault]), (fault,))
    if len(faults) > 1:
        yield DeclaredAnswer("all faults", file.make_listing(faults), tuple(faults))


def format_answer(outcomes: Mapping[str, CheckOutcome]) -> list[str]:
    """Return a line for each part of each check, followed by drawn and compared values, if known."""
    width = max(map(len, outcomes), default=0)
    lines = []
    for name, outcome in outcomes.items():
        mistakes = f"  = {', '.join(outcome.mistakes)}" if outcome.mistakes else ""
        said = ": ".join(filter(None, (outcome.error, outcome.message)))
        lines.append(f"{name:{width}}  {MARKS[outcome.status]:9}  {said}{mistakes}".rstrip())
        lines += [f"    {value}" for value in outcome.values]
    return lines


def format_matrix(file: CheckFile, rows: Sequence[AnswerRow]) -> list[str]:
    """Return a line for each answer: which checks it passes, and how it differs from its declaration.

    The messages of checks follow for answers that differ, and for all answers if values are shown.
    """
    ids = [check.id for check in file.checks]
    width = max((len(row.answer.name) for row in rows), default=0)
    lines = ["  ".join([" " * width, *ids]).rstrip()]
    for row in rows:
        lost, unclear = find_lost(file, row.outcomes), _find_unclear(file, row.outcomes)
        signs = ["?" if check in unclear else "✗" if check in lost else "✓" for check in ids]
        marks = [f"{sign:{len(check)}}" for sign, check in zip(signs, ids, strict=True)]
        remark = ""
        if not is_as_declared(file, row):
            loses = row.answer.loses
            wanted = ", ".join(loses or ()) or ("at least one" if loses is None else "nothing")
            remark = f"expected to lose {wanted}"
            if row.answer.review:
                remark += f", and manual review of {', '.join(row.answer.review)}"
        lines.append("  ".join([f"{row.answer.name:{width}}", *marks, remark]).rstrip())
    unseen = [row.answer.mutant for row in rows if is_unrecognised(row)]
    if unseen:
        lines += ["", f"not recognised: {', '.join(unseen)}. {NOT_RECOGNISED}"]
    for row in rows:
        if not is_as_declared(file, row) or any(outcome.values for outcome in row.outcomes.values()):
            lines += ["", f"{row.answer.name}:", *format_answer(row.outcomes)]
    return lines


def is_as_declared(file: CheckFile, row: AnswerRow) -> bool:
    """Return whether an answer fails the checks that it must.

    If it declares them, no other may be undecided.
    """
    lost, unclear = find_lost(file, row.outcomes), _find_unclear(file, row.outcomes)
    if row.answer.loses is None:
        # A check that could not decide is not passed, but no proof of a loss.
        return bool(lost - unclear)
    declared = [*row.answer.loses, *row.answer.review]
    return unclear == set(row.answer.review) and lost == set(file.list_needing(declared))


def is_unrecognised(row: AnswerRow) -> bool:
    """Return whether an answer is a mutant that no check recognises, so that its title never applies."""
    seen = {name for outcome in row.outcomes.values() for name in outcome.mistakes}
    return bool(row.answer.mutant) and row.answer.mutant not in seen


def find_lost(file: CheckFile, outcomes: Mapping[str, CheckOutcome]) -> set[str]:
    """Return the checks that are not passed, with those that depend on them."""
    failed = (
        check.id
        for check in file.checks
        if any(outcomes[name_part(check.id, part.name)].status != "passed" for part in check.parts)
    )
    return set(file.list_needing(failed))


def _find_unclear(file: CheckFile, outcomes: Mapping[str, CheckOutcome]) -> set[str]:
    return {
        check.id
        for check in file.checks
        if any(outcomes[name_part(check.id, part.name)].status == "unclear" for part in check.parts)
    }
