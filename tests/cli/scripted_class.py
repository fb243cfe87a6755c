"""A class in groups of one to three that submits two assignments, with its expected marks.

The expected values are computed from the tables below, independently of the program: graded attempts, points,
slip days and late penalties. The assignments are those of `small_course` and `calling_course`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import cycle

from msgspec import Struct

from tests.support import calling_course, small_course
from tests.support.calling_course import ATTEND, COLUMNS, ONCE, TWICE, UNDIVIDED, UNSCALED, WEIGHTS
from tests.support.small_course import SOFTMAX

SMALL, CALLING = small_course.NAME, calling_course.NAME
POSSIBLE = {SMALL: Decimal(13), CALLING: Decimal(8)}
ENDS = {SMALL: datetime(2025, 5, 4, 23, 59), CALLING: datetime(2025, 5, 18, 23, 59)}  # noqa: DTZ001 - local
"""In Berlin time."""
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
GRACE, CLOSED_AFTER = timedelta(minutes=10), 168 * HOUR
SLIP_DAYS, MOST_SLIP_DAYS = 3, 2
SIZES = (1, 2, 1, 3)
"""Assigned to the groups in turn."""
DOWNLOADS = (12 * HOUR, 11 * DAY)
"""Time between the deadline and the instructor's download."""

_FIRST = (
    *("Zoë", "Anna", "Bülent", "Chloé", "Deniz", "Emil", "Fatma", "Greta", "Hakan", "Ilse"),
    *("Jürgen", "Katja", "Luís", "Mira", "Noor", "Otto", "Paula", "Quirin", "Rosa", "Søren"),
)
_LAST = (
    *("Kruse", "Abel", "Böhm", "Çelik", "Dietz", "Ebert", "Fuchs", "Günther", "Hahn", "Iversen"),
    *("Jansen", "Keller", "Lorenz", "Maier", "Nowak", "Özdemir", "Peters", "Richter", "Sauer", "Thiel"),
)
CALLED_OTHERWISE = "Zoe Lang"
"""The name that the platform shows for the first student, without a number or an address."""


class Student(Struct, frozen=True):
    """One line of the class list."""

    id: str
    first_name: str
    last_name: str
    number: int
    """The number of the participant on the platform."""

    @property
    def name(self) -> str:
        """Return the name as on the class list."""
        return f"{self.first_name} {self.last_name}"


class Attempt(Struct, frozen=True):
    """The time at which a group member submits something."""

    member: int
    """Modulo the size of the group."""
    after: timedelta
    """Relative to the deadline; negative before it."""
    is_draft: bool = False
    """Most answers are missing."""


class Way(Struct, frozen=True):
    """How a group submits."""

    attempts: tuple[Attempt, ...] = ()
    """In order of time."""
    extended: timedelta = timedelta(0)
    extended_for: str = ""
    """Extension: ``students`` for its first member; ``groups``."""


WAYS = (
    Way((Attempt(0, -2 * HOUR),)),
    Way((Attempt(0, -2 * DAY, is_draft=True), Attempt(0, -HOUR))),
    Way((Attempt(0, GRACE - timedelta(minutes=1)),)),
    Way((Attempt(1, 5 * HOUR),)),
    Way((Attempt(0, 2 * DAY + HOUR),)),
    Way((Attempt(0, 20 * HOUR),), DAY, "students"),
    Way((Attempt(1, 2 * DAY),), 3 * DAY, "groups"),
    Way((Attempt(0, 8 * DAY + HOUR),)),  # refused with fewer than two slip days left
    Way((Attempt(0, 10 * DAY),)),  # always refused
    Way((Attempt(0, -3 * HOUR), Attempt(0, 10 * DAY, is_draft=True))),  # the earlier one is graded
    Way(),
    Way((Attempt(0, -5 * HOUR, is_draft=True), Attempt(1, -HOUR))),
)


class Group(Struct, frozen=True):
    """Students who submit together, how they do, and with which answers."""

    name: str
    members: tuple[Student, ...]
    way: Way
    profile: int
    """Selects the answers."""

    def who(self, attempt: Attempt) -> Student:
        """Return the submitter of an attempt."""
        return self.members[attempt.member % len(self.members)]


class Stands(Struct, frozen=True):
    """The expected marks of one student in one assignment."""

    group: Group
    attempt: int
    """Index of the graded attempt."""
    questions: Mapping[str, Decimal]
    """Points before any deduction; 0 for each item if the attempt is refused."""
    percent: Decimal
    """The late penalty in percent of the possible points."""
    slip_used: int
    is_refused: bool

    @property
    def earned(self) -> Decimal:
        """Return the points of all questions."""
        return sum(self.questions.values(), Decimal(0))

    def late(self, possible: Decimal) -> Decimal:
        """Return the late penalty in points."""
        return min(self.percent * possible / 100, self.earned)

    def total(self, possible: Decimal) -> Decimal:
        """Return the points after the penalty."""
        return self.earned - self.late(possible)


class ScriptedClass(Struct, frozen=True):
    """The students, and their groups by assignment."""

    students: tuple[Student, ...]
    groups: Mapping[str, tuple[Group, ...]]

    def latest(self, name: str, download: int) -> dict[Student, tuple[Group, Attempt]]:
        """Return each student's last attempt at the time of a download."""
        return {
            group.who(attempt): (group, attempt)
            for group in self.groups[name]
            for attempt in group.way.attempts
            if attempt.after < DOWNLOADS[download]
        }

    def stands(self, name: str, worth_13: str = "0.5") -> dict[str, Stands]:
        """Return the expected marks of every student with a submission, by id.

        Args:
            name: name of the assignment.
            worth_13: points for 13 layers in the rubric of `small_course`.
        """
        before = self.stands(SMALL) if name == CALLING else {}
        return {
            student.id: _stands(name, group, left, worth_13)
            for group in self.groups[name]
            if group.way.attempts
            for student in group.members
            for left in [SLIP_DAYS - (before[student.id].slip_used if student.id in before else 0)]
        }

    def totals(self, name: str, worth_13: str = "0.5") -> dict[str, Decimal]:
        """Return every student's total, by id."""
        return {who: standing.total(POSSIBLE[name]) for who, standing in self.stands(name, worth_13).items()}


def scripted_class(students: int) -> ScriptedClass:
    """Return a class of this size, at most 400; with 20, both assignments contain every way to submit.

    The groups of the second assignment differ from those of the first, so members have different numbers of
    slip days left.
    """
    listed = tuple(
        Student(f"s{1000 + at}", _FIRST[at % 20], _LAST[(at + at // 20) % 20], 7000 + at)
        for at in range(students)
    )
    return ScriptedClass(
        listed,
        {
            SMALL: tuple(_grouped(listed, "red", 1, 0)),
            CALLING: tuple(_grouped((*listed[1:], listed[0]), "blue", 5, 8)),
        },
    )


def _grouped(students: tuple[Student, ...], colour: str, step: int, first: int) -> Iterator[Group]:
    left = students
    for number, size in enumerate(cycle(SIZES)):
        if not left:
            return
        way = WAYS[(step * number + first) % len(WAYS)]
        yield Group(f"{colour}-{number:03}", left[:size], way, number)
        left = left[size:]


# ---------------------------------------------------------------- lateness and its penalty


def _stands(name: str, group: Group, left: int, worth_13: str) -> Stands:
    """Return the marks of one member: those of the last attempt that is not refused, or the last one."""
    attempts = group.way.attempts
    at, cost = len(attempts) - 1, _cost(name, attempts[-1].after - group.way.extended, left)
    while cost is None and at > 0:
        at -= 1
        cost = _cost(name, attempts[at].after - group.way.extended, left)
    if cost is None:
        nothing = dict.fromkeys(points_of(name, group.profile, is_draft=True, worth_13=""), Decimal(0))
        return Stands(group, len(attempts) - 1, nothing, Decimal(0), 0, is_refused=True)
    percent, used = cost
    points = points_of(name, group.profile, is_draft=attempts[at].is_draft, worth_13=worth_13)
    return Stands(group, at, points, percent, used, is_refused=False)


def _cost(name: str, late: timedelta, left: int) -> tuple[Decimal, int] | None:
    """Return percent and slip days used; None if the attempt is refused."""
    if late <= GRACE:
        return Decimal(0), 0
    used = min(-(-late // DAY), left, MOST_SLIP_DAYS)
    remaining = max(late - used * DAY, timedelta(0))
    if remaining > CLOSED_AFTER:
        return None
    if name == SMALL:
        return Decimal(min(10 * -(-remaining // DAY), 50)), used
    return Decimal(20 if remaining > DAY else 5 if remaining else 0), used


# ---------------------------------------------------------------- answers and their points

_FORMULAS = (
    ("8*d_model^2", "2", "8*n_layers*d_model^2", "2"),
    ("4*d_model^2", "1", "4*n_layers*d_model^2", "1.5"),
    ("8*d_model^2 + 5*d_model", "2", "8*n_layers*d_model^2", "2"),
    ("8*d_model^2", "2", "", "0"),
)
_LAYERS = (("12", "1"), ("13", ""), ("7", "0"))
_SOFTMAX = ((SOFTMAX, "3"), (SOFTMAX.replace("axis=-1", "axis=1"), "2"), ("", "0"))
MARKED = {"Two matrices.": "1", "Four times the square, twice.": "0.5", "All of it.": "1", "Nothing.": "0"}
"""The manual mark for a written answer."""
_WHY = ("Two matrices.", "Four times the square, twice.", "")
_THOUGHTS = ("All of it.", "", "Nothing.")
_WEIGHTS = ((WEIGHTS, "2"), (COLUMNS, "0.5"), (UNDIVIDED, "0"))
_ATTEND = ((ATTEND, "4"), (UNSCALED, "2"))
_TWICE = ((TWICE, "2"), (ONCE, "0"))
COPIED = (1, 8)
"""Groups of the second assignment with the same unusual answer; the second copied from the first."""
_UNUSUAL = """\
def attend(query, key, value):
    rows = []
    for number in range(query.shape[0]):
        scores = numpy.zeros(key.shape[0])
        for place in range(key.shape[0]):
            scores[place] = (query[number] * key[place]).sum() / numpy.sqrt(key.shape[1])
        rows.append(scores)
    shares = weights(numpy.stack(rows))
    result = numpy.zeros((query.shape[0], value.shape[1]))
    for place in range(key.shape[0]):
        result = result + shares[:, place : place + 1] * value[place]
    return result
"""
_RENAMED = (
    _UNUSUAL.replace("scores", "line").replace("number", "i").replace("place", "j").replace("rows", "found")
)


def answers_of(name: str, group: Group, attempt: Attempt) -> dict[str, str]:
    """Return the answers by grade_id; missing cells are left as released."""
    profile = group.profile
    if name == CALLING:
        sources = {"weights": _WEIGHTS[0][0]} if attempt.is_draft else _calling(profile)
        return {f"{function}-answer": source for function, source in sources.items()}
    if attempt.is_draft:
        return {"layers-answer": "layers = 12"}
    first, _, second, _ = _FORMULAS[profile % 4]
    activation, summed = _choices(profile)
    written = {
        "mlp-answer": f'mlp_parameters = "{first}"',
        "mlp-why": _WHY[profile // 3 % 3],
        "model-answer": second and f'model_parameters = "{second}"',
        "layers-answer": f"layers = {_LAYERS[profile % 3][0]}",
        "activation-answer": f'activation = "{activation}"',
        "places-answer": f'places = {{"scored": "key", "summed": "{summed}"}}',
        "softmax-answer": _SOFTMAX[profile // 2 % 3][0],
        "thoughts": _THOUGHTS[profile // 4 % 3],
    }
    return {cell: text for cell, text in written.items() if text}


def _choices(profile: int) -> tuple[str, str]:
    return "relu" if profile % 5 == 4 else "gelu", "query" if profile % 5 == 2 else "value"


def _calling(profile: int) -> dict[str, str]:
    copied = {COPIED[0]: _UNUSUAL, COPIED[1]: _RENAMED}.get(profile)
    return {
        "weights": _WEIGHTS[profile % 3][0],
        "attend": copied or _ATTEND[profile // 2 % 2][0],
        "twice": _TWICE[profile // 3 % 2][0],
    }


def points_of(name: str, profile: int, *, is_draft: bool, worth_13: str) -> dict[str, Decimal]:
    """Return the points of each question, including manual marks."""
    if name == CALLING:
        worth = {
            "weights": _WEIGHTS[0 if is_draft else profile % 3][1],
            "attend": "0" if is_draft else "4" if profile in COPIED else _ATTEND[profile // 2 % 2][1],
            "twice": "0" if is_draft else _TWICE[profile // 3 % 2][1],
        }
    elif is_draft:
        worthless = ("mlp", "model", "activation", "places", "softmax", "thoughts")
        worth = {"layers": "1", **dict.fromkeys(worthless, "0")}
    else:
        _, formula, _, model = _FORMULAS[profile % 4]
        activation, summed = _choices(profile)
        worth = {
            "mlp": str(Decimal(formula) + Decimal(MARKED.get(_WHY[profile // 3 % 3], "0"))),
            "model": model,
            "layers": _LAYERS[profile % 3][1] or worth_13,
            "activation": "1" if activation == "gelu" else "0",
            "places": "2" if summed == "value" else "1",
            "softmax": _SOFTMAX[profile // 2 % 3][1],
            "thoughts": MARKED.get(_THOUGHTS[profile // 4 % 3], "0"),
        }
    return {question: Decimal(points) for question, points in worth.items()}
