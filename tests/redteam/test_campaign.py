"""The run of ``python -m tests.redteam``, checked line by line.

Every attacker submits a notebook of the shipped exam among honest classmates, and the real product grades all
of it. The run is made once, with a rotating part of the attacks and uploads, or with all of them
(`THOROUGH=1`). ``test_boxes`` runs each attack in a box.
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
    """Return the run."""
    root = tmp_path_factory.mktemp("redteam")
    exam = Exam.made(root / "course")
    with opened(root / "world") as world:
        yield run(exam, entrants(exam, world, ATTACKS, HANDED_IN), world)


@pytest.fixture(scope="module")
def lines(campaign: Campaign) -> dict[str, Line]:
    """Return the lines by class and title."""
    return {f"{line.kind}: {line.name}": line for line in campaign.all_lines()}


def test_there_is_much_to_steal(campaign: Campaign) -> None:
    """The attackers' paper alone earns much less than the honest ones."""
    assert sum(campaign.wrong.values()) < 6
    assert campaign.exam.full == sum(campaign.right.values())


# One test for all attacks, because several workers would each repeat the run.
def test_no_attack_gains_or_harms_anything(lines: dict[str, Line]) -> None:
    """No mark, file, process, classmate or part of the grader is affected."""
    assert {} == {name: lines[name].findings for name in HOSTILE if lines[name].findings}
    assert [] == [name for name in HOSTILE if not lines[name].outcome]


def test_honest_controls_keep_full_marks(campaign: Campaign, lines: dict[str, Line]) -> None:
    """What honest students have in their notebooks costs no points, also between attackers."""
    honest = {title: lines[f"honest: {title}"] for title in HONEST}
    assert {} == {title: line.findings for title, line in honest.items() if line.findings}
    points = {title: campaign.graded[line.student].score.points for title, line in honest.items()}
    assert dict.fromkeys(HONEST, campaign.exam.full) == points


def test_nothing_is_left_at_the_end(campaign: Campaign) -> None:
    """There are no findings that cannot be attributed to one attacker, either."""
    assert {} == campaign.whole.findings
    assert dict.fromkeys(COLUMNS, 0) == totals(campaign.all_lines())


def test_honest_classmates_keep_full_marks(campaign: Campaign) -> None:
    """Students who are graded between the attackers earn the points of the answer key."""
    honest = [line for line in campaign.all_lines() if line.role in {"classmate", "control"}]
    assert len(honest) >= 14
    assert {campaign.exam.full} == {campaign.graded[line.student].score.points for line in honest}
