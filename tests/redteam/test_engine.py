"""The red team's instruments: they detect what they should, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.redteam.attack import ATTACKS
from tests.redteam.campaign import run
from tests.redteam.entrants import Entrant
from tests.redteam.exam import NAME, Exam
from tests.redteam.listed import PEERS, PROCESS
from tests.redteam.uploads import FILE, UPLOADS
from tests.redteam.world import opened

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("listed", [PEERS, PROCESS], ids=["other graders", "processes"])
def test_every_known_attack_is_among_ours(listed: dict[str, tuple[str, ...]]) -> None:
    """Each line of the lists names existing attacks of this suite."""
    ours = {*ATTACKS, *(upload.name for upload in UPLOADS)}
    assert set() == {name for names in listed.values() for name in names} - ours
    assert all(listed.values())


def test_every_promise_names_what_holds_it() -> None:
    """Each promise of docs/security.md names existing attacks, test files, targets or programs."""
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    listed = text[text.index("## Promised") : text.index("All of this holds")]
    promises = re.split(r"^\d+\. ", listed, flags=re.MULTILINE)[1:]
    kinds = {*(one.kind for one in ATTACKS.values()), *(upload.kind for upload in UPLOADS)}
    targets = {
        f"make {name}" for name in re.findall(r"^([a-z]+): ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    }
    # The programs that `make security` runs one after another.
    targets |= set(re.findall(r"python -m tests\.[a-z.]+", (ROOT / "Makefile").read_text()))
    held: set[str] = set()
    for promise in promises:
        names = re.findall(r"`([^`]+)`", promise.partition("Held by")[2])
        assert names, promise
        files = {name for name in names if "/" in name}
        assert [] == [name for name in files if not (ROOT / name).is_file()]
        assert set() == {*names} - files - kinds - targets, promise
        held |= {*names}
    assert len(promises) >= 10
    assert set() == kinds - held


def test_there_are_as_many_attacks_as_promised() -> None:
    """Names are unique, and both lists are complete."""
    names = [*ATTACKS, *(upload.name for upload in UPLOADS)]
    assert len(names) == len(set(names))
    assert len(names) >= 250
    assert (34, 44) == (len(PEERS), len(PROCESS))


@pytest.mark.sandbox
@pytest.mark.apart
def test_a_red_team_that_succeeds_is_noticed(tmp_path: Path) -> None:
    """An attacker with right answers, a changed bait, and a control with wrong answers are each detected."""
    exam = Exam.made(tmp_path / "course")

    def right(folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / FILE).write_bytes(exam.key)
        world.files[0].write_bytes(b"other marks")

    def wrong(folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / FILE).write_bytes(exam.wrong_paper().notebooks[NAME])

    with opened(tmp_path / "world") as world:
        entrants = [
            Entrant("p000", "time", "cheat", "attack", right),
            Entrant("p001", "honest", "fool", "control", wrong),
        ]
        campaign = run(exam, entrants, world)
    cheat, fool = campaign.lines.values()
    assert {"marks changed"} == set(cheat.findings)
    assert cheat.count("marks changed") > 20
    assert {"classmates' marks"} == set(fool.findings)
    assert {"files touched outside"} == set(campaign.whole.findings)
