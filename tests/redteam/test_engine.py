"""The red team's own instruments: what they are to notice, they notice, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.redteam import watch
from tests.redteam.attack import ATTACKS
from tests.redteam.campaign import run
from tests.redteam.entrants import Entrant
from tests.redteam.exam import NAME, Exam
from tests.redteam.injections import CODES, SCRIPTS
from tests.redteam.listed import PEERS, PROCESS
from tests.redteam.pages import POLICY, comment_faults, notebook_faults, page_faults, terminal_faults
from tests.redteam.report import COLUMNS, Line, as_json, plain, table, totals
from tests.redteam.tables import cell_faults
from tests.redteam.uploads import FILE, UPLOADS
from tests.redteam.world import opened

ROOT = Path(__file__).parents[2]
PAGE = f'<html lang="en"><head><meta http-equiv="Content-Security-Policy" content="{POLICY}"></head><body>'


@pytest.mark.parametrize("listed", [PEERS, PROCESS], ids=["other graders", "processes"])
def test_every_known_attack_is_among_ours(listed: dict[str, tuple[str, ...]]) -> None:
    """Each line of the lists names attacks of this suite, and none of them is misspelt."""
    ours = {*ATTACKS, *(upload.name for upload in UPLOADS)}
    assert set() == {name for names in listed.values() for name in names} - ours
    assert all(listed.values())


def test_every_promise_names_what_holds_it() -> None:
    """Each promise of docs/security.md names classes of attacks, files of tests or targets that exist."""
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    listed = text[text.index("## Promised") : text.index("All of this holds")]
    promises = re.split(r"^\d+\. ", listed, flags=re.MULTILINE)[1:]
    kinds = {*(one.kind for one in ATTACKS.values()), *(upload.kind for upload in UPLOADS)}
    targets = {
        f"make {name}" for name in re.findall(r"^([a-z]+): ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    }
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


def test_a_clean_page_has_no_faults() -> None:
    """What our pages are made of is allowed."""
    body = '<p class="x">1 &lt; 2</p><a href="#a">a</a><img src="data:image/png;base64,AAAA" alt="">'
    assert [] == list(page_faults(PAGE + body))


@pytest.mark.parametrize("fragment", [one for one in SCRIPTS if not one.startswith("]]")])
def test_markup_that_acts_is_noticed_on_a_page_and_in_its_frames(fragment: str) -> None:
    """Unescaped on the page or in a frame, each is a fault; escaped on the page it is none."""
    escaped = fragment.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    inside = (PAGE + fragment).replace("&", "&amp;").replace('"', "&quot;")
    assert [] != list(page_faults(PAGE + fragment))
    assert [] == list(page_faults(PAGE + escaped))
    assert [] != list(page_faults(PAGE + f'<iframe sandbox srcdoc="{inside}"></iframe>'))


@pytest.mark.parametrize(
    "body",
    [
        '<a href="https://example.org">x</a>',
        '<img src="data:image/svg+xml;base64,AAAA">',
        '<p style="position:fixed">x</p>',
        '<iframe srcdoc="x"></iframe>',
        '<iframe sandbox="allow-scripts" srcdoc="x"></iframe>',
        "<!-- x -->",
        "<?x?>",
        "a\u202eb",
        "a\x1bb",
    ],
)
def test_what_loads_opens_or_hides_is_noticed(body: str) -> None:
    """Links, foreign pictures, styles, open frames, comments and hidden characters are faults."""
    assert [] != list(page_faults(PAGE + body))


def test_a_page_without_its_policy_is_noticed() -> None:
    """The policy stands once, as it is written in the product."""
    assert [] != list(page_faults("<!doctype html><p>x</p>"))


def executed(**cell: object) -> bytes:
    """A notebook with one cell of a student."""
    whole = {"cell_type": "markdown", "metadata": {}, "source": "x", **cell}
    return json.dumps({"cells": [whole]}).encode()


@pytest.mark.parametrize(
    "cell",
    [
        {"source": "<b>x</b>"},
        {"source": "[x](javascript:alert(1))"},
        {"metadata": {"tags": ["x"]}},
        {"cell_type": "code", "outputs": [{"output_type": "display_data", "data": {"text/html": "x"}}]},
        {"cell_type": "code", "source": "\x1b[2J"},
    ],
)
def test_what_acts_in_an_executed_notebook_is_noticed(cell: dict[str, object]) -> None:
    """Markup, metadata, outputs and control characters of the student's are faults."""
    assert [] != list(notebook_faults(executed(**cell)))
    assert [] == list(notebook_faults(executed()))


def test_what_acts_in_comments_tables_and_terminals_is_noticed() -> None:
    """Markup in a comment, a formula in a cell of a table, a control sequence on a terminal."""
    assert [] == list(comment_faults("- Formula: 1 of 1 (right)."))
    assert [] != list(comment_faults("<b>"))
    assert [] == [fault for text in ("ada", "-1.5", "") for fault in cell_faults(text)]
    assert all(list(cell_faults(text)) for text in ("=1+1", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1"))
    assert all(list(terminal_faults(text)) for text in CODES)
    assert [] == list(terminal_faults("│ ada │ 5 / 38 │\n"))


def touched(path: Path) -> None:
    """The same bytes, written again."""
    path.write_bytes(path.read_bytes() + b"x")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda root: (root / "new").touch(), "'new' appeared"),
        (lambda root: (root / "a").unlink(), "'a' is gone"),
        (lambda root: touched(root / "a"), "'a' changed"),
        (lambda root: (root / "a").chmod(0o600), "'a' changed"),
        (lambda root: (root / "b" / "link").symlink_to("/"), "'b/link' appeared"),
    ],
)
def test_changes_in_a_course_are_noticed(tmp_path: Path, change: Callable[[Path], object], said: str) -> None:
    """Whatever is new, gone or different is named; what grading writes is not."""
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").mkdir()
    looks = (watch.glance, watch.contents)
    before = [look(tmp_path) for look in looks]
    (tmp_path / "feedback").mkdir()
    (tmp_path / "gradebook.db-journal").touch()
    assert [[], []] == [
        list(watch.changes(*pair)) for pair in zip(before, map_all(looks, tmp_path), strict=True)
    ]
    change(tmp_path)
    for pair in zip(before, map_all(looks, tmp_path), strict=True):
        assert said in list(watch.changes(*pair))


def map_all(looks: tuple[Callable[[Path], watch.Contents], ...], root: Path) -> list[watch.Contents]:
    """Every look at a folder."""
    return [look(root) for look in looks]


def test_the_report_counts_and_shows_what_was_found() -> None:
    """One line each without control characters, a total, and one JSON object that says whether all held."""
    good, bad = Line("time", "a", "attack", outcome="0 points"), Line("time", "\x1b[2J", "attack")
    bad.found("marks changed", "x.y", "x.z")
    assert {**dict.fromkeys(COLUMNS, 0), "marks changed": 2} == totals([good, bad])
    assert "MARKS CHANGED: x.y, x.z" in bad.text()
    assert "\x1b" not in bad.text() == plain(bad.text())
    assert "2" == list(table([good, bad]))[-1].split("|")[2].strip()
    told = json.loads(as_json([good, bad], 1.0))
    assert (2, 2, False) == (told["attacks"], told["marks changed"], told["held"])
    with pytest.raises(ValueError, match="no column"):
        good.found("beauty", "x")


@pytest.mark.sandbox
@pytest.mark.apart
def test_a_red_team_that_succeeds_is_noticed(tmp_path: Path) -> None:
    """An attacker with right answers, a changed bait, and a control with wrong answers each show."""
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
