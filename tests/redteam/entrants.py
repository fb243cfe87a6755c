"""The entrants: every attack, every control, and classmates between them, in the order of grading."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tests.redteam.attack import ATTACKS, Attack, load
from tests.redteam.controls import CONTROLS
from tests.redteam.exam import NAME, Exam
from tests.redteam.lab import ATTACKS as ON_LAB
from tests.redteam.lab import Lab
from tests.redteam.lab_uploads import HANDED_FILES
from tests.redteam.uploads import UPLOADS, Case, Upload
from tests.redteam.world import World

HandIn = Callable[[Path], None]


class Entrant(Struct, frozen=True):
    """One student of the class."""

    student: str
    """The name of the submitted folder."""
    kind: str
    title: str
    role: str
    """``"attack"``, ``"control"`` or ``"classmate"``."""
    hand_in: HandIn
    """Called with the folder to be made, ``submitted/<student>/<assignment>``."""
    graded: bool = True
    """False if the folder's name must be refused."""

    @property
    def name(self) -> str:
        """Return class and title."""
        return f"{self.kind}: {self.title}"


def here() -> list[Attack]:
    """Return every attack for this processor."""
    return [attack for attack in ATTACKS.values() if attack.machine in {"", platform.machine()}]


def entrants(
    exam: Exam, world: World, attacks: Sequence[Attack], uploads: Sequence[Upload] = UPLOADS
) -> list[Entrant]:
    """Return the whole class. Attackers are told the paths that they should not reach."""
    targets = {**world.targets(), "files": [*world.paths(), *_worth_reading(exam)]}
    hostile = [
        ("", attack.kind, attack.title, "attack", _notebook(exam.attacking(attack, targets)))
        for attack in attacks
    ]
    case = Case(exam)
    hostile += [
        (upload.student, upload.kind, upload.title, "attack", _upload(upload.hand_in, case), upload.graded)
        for upload in uploads
    ]
    honest = [("control", control.title, _notebook(control.paper(exam))) for control in CONTROLS]
    honest += [("classmate", f"answer key {number}", _notebook(exam.key)) for number in range(4)]
    honest.sort(key=lambda one: one[1])  # answer keys first, then the controls between the attackers
    found: list[Entrant] = []
    for number, (student, *rest) in enumerate(hostile):
        while honest and len(found) - number <= number * len(CONTROLS) // len(hostile):
            found.append(_honest(len(found), *honest.pop(0)))
        found.append(Entrant(student or _student(len(found)), *rest))
    return found + [_honest(len(found) + number, *one) for number, one in enumerate(honest)]


def lab_entrants(lab: Lab) -> list[Entrant]:
    """Return the class of the lab; the first, middle and last student submit the answer key."""
    hostile: list[tuple[str, str, HandIn]] = [
        (one.kind, one.title, partial(lab.hand_in, attack=one))
        for path in sorted(ON_LAB.glob("*.cells"))
        for one in load(path)
    ]
    hostile += [("files", title, partial(_beside, lab, add)) for title, add in HANDED_FILES.items()]
    found = [Entrant("", kind, title, "attack", hand_in) for kind, title, hand_in in hostile]
    for place in (len(found), len(found) // 2, 0):
        key = partial(lab.hand_in, right=True)
        found.insert(place, Entrant("", "honest", f"answer key of the lab at {place}", "classmate", key))
    return [replace(one, student=_student(number)) for number, one in enumerate(found)]


def _beside(lab: Lab, add: Callable[[Path, Lab], object], folder: Path) -> None:
    lab.hand_in(folder)
    add(folder, lab)


def _honest(place: int, role: str, title: str, hand_in: HandIn) -> Entrant:
    return Entrant(_student(place), "honest", title, role, hand_in)


def _student(place: int) -> str:
    return f"p{place:03}"


def _notebook(data: bytes) -> HandIn:
    def hand_in(folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / f"{NAME}.ipynb").write_bytes(data)

    return hand_in


def _upload(hand_in: Callable[[Path, Case], None], case: Case) -> HandIn:
    return lambda folder: hand_in(folder, case)


def _worth_reading(exam: Exam) -> Sequence[str]:
    course = exam.course
    paths = (
        course.gradebook,
        course.private / "secret",
        course.locate_rubric(NAME),
        course.sources / NAME / f"{NAME}.ipynb",
        course.reference / "attention.py",
        course.root / "submitted" / "p000" / NAME / f"{NAME}.ipynb",
    )
    return [str(path) for path in paths]
