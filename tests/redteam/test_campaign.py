"""The red team's run, as ``python -m tests.redteam`` makes it, looked at line by line.

Every attacker hands in a notebook of the shipped exam beside honest classmates, and all of it goes through
the whole product. The run is made once, with a rotating part of the attacks and of the uploads, or with all
of them (`THOROUGH=1`). Each of them attacks a box in ``test_boxes``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.redteam.campaign import Campaign, run
from tests.redteam.controls import CONTROLS
from tests.redteam.entrants import entrants, here
from tests.redteam.exam import Exam
from tests.redteam.report import COLUMNS, Line, totals
from tests.redteam.uploads import UPLOADS
from tests.redteam.world import opened
from tests.support.thorough import rotating

pytestmark = [pytest.mark.long, pytest.mark.sandbox, pytest.mark.apart]

ATTACKS = rotating(here(), parts=30)
HANDED_IN = rotating(UPLOADS, parts=4)
HOSTILE = [one.name for one in (*ATTACKS, *HANDED_IN)]
HONEST = [control.title for control in CONTROLS]


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    """The run."""
    root = tmp_path_factory.mktemp("redteam")
    exam = Exam.made(root / "course")
    with opened(root / "world") as world:
        yield run(exam, entrants(exam, world, ATTACKS, HANDED_IN), world)


@pytest.fixture(scope="module")
def lines(campaign: Campaign) -> dict[str, Line]:
    """The lines by class and title."""
    return {f"{line.kind}: {line.name}": line for line in campaign.all_lines()}


def test_there_is_much_to_steal(campaign: Campaign) -> None:
    """The attackers' paper by itself earns little of what the honest ones earn."""
    assert sum(campaign.wrong.values()) < 6
    assert campaign.exam.full == sum(campaign.right.values())


# One test for all attacks: two workers that shared many would each make the run.
def test_no_attack_gains_or_harms_anything(lines: dict[str, Line]) -> None:
    """No mark, no file, no process, no classmate and no part of the grader is affected."""
    assert {} == {name: lines[name].findings for name in HOSTILE if lines[name].findings}
    assert [] == [name for name in HOSTILE if not lines[name].outcome]


def test_honest_controls_keep_full_marks(campaign: Campaign, lines: dict[str, Line]) -> None:
    """What honest students have in their notebooks costs nothing, also between attackers."""
    honest = {title: lines[f"honest: {title}"] for title in HONEST}
    assert {} == {title: line.findings for title, line in honest.items() if line.findings}
    points = {title: campaign.graded[line.student].score.points for title, line in honest.items()}
    assert dict.fromkeys(HONEST, campaign.exam.full) == points


def test_nothing_is_left_at_the_end(campaign: Campaign) -> None:
    """Nor is anything found that cannot be laid at one attacker's door."""
    assert {} == campaign.whole.findings
    assert dict.fromkeys(COLUMNS, 0) == totals(campaign.all_lines())


def test_honest_classmates_keep_full_marks(campaign: Campaign) -> None:
    """Whoever is graded between the attackers gets what the answer key gets."""
    honest = [line for line in campaign.all_lines() if line.role in {"classmate", "control"}]
    assert len(honest) >= 14
    assert {campaign.exam.full} == {campaign.graded[line.student].score.points for line in honest}
