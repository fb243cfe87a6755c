"""Response times of marking: `python benchmarks/marking.py [--json]`.

The demo's class takes the exam and is graded; a service opens its folder, on this machine.

1. ``large``: a class made from the demo's results, each with different written answers. Over HTTP, each from
   the request to its last byte: the list of cells, the next answer, saving, groups at every step of the
   slider, with an empty cache and once more, a group of 200 marked at once and undone. Then the next
   answer and saving with three markers at once.
2. ``bench``: inputs tried on a warm bench, of a notebook that needs numpy and of one that needs torch.
3. ``actions``: keys, clicks and loaded pages until the demo's class is marked, in formgrader and here, both
   driven in Chromium; see formgrader.py.

Times are wall-clock milliseconds, measured by a program on the same processors, and so an upper bound; the
load of the machine (`os.getloadavg`, one minute) is reported with them. With --json the last line is one JSON
object.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests
from msgspec import Struct
from msgspec.structs import replace

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import formgrader  # noqa: E402 - served.py lies in tests

from autograder import assignment as assignments  # noqa: E402
from autograder.app import demo_run, open_course  # noqa: E402
from autograder.app.stores import open_store  # noqa: E402
from autograder.assignment import Assignment  # noqa: E402
from autograder.generate import generate  # noqa: E402
from autograder.marking.grouping import STEPS  # noqa: E402
from autograder.records import Graded, Markdown, Status  # noqa: E402
from autograder.service import setup  # noqa: E402
from autograder.store import GradedEntry, Key, encode  # noqa: E402
from tests.marking import synthetic  # noqa: E402
from tests.service import course as courses  # noqa: E402
from tests.support import small_course  # noqa: E402
from tests.support.served import Served  # noqa: E402

if TYPE_CHECKING:
    from autograder.service.models import CourseRecord, Offer

PLAIN = "def double(value):\n    return 2 * value\n"
TORCH = """\
import torch

class Attention(torch.nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.layer = torch.nn.MultiheadAttention(width, 4, batch_first=True)

    def forward(self, x):
        return self.layer(x, x, x)[0]

model = Attention()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(5):
    optimizer.zero_grad()
    model(torch.randn(2, 8, 64)).square().mean().backward()
    optimizer.step()
"""
NOTEBOOKS = {
    "numpy": (PLAIN, "double(3)", "6"),
    "torch": (TORCH, "model(torch.ones(1, 3, 64)).shape", "torch.Size([1, 3, 64])"),
}
"""Preloaded module → the code, an input, its value."""
EXAM = "dl4nlp-exam"
CELL, GROUP_CELL = "task1-a", "task1-c"
"""The cell with the answers that are marked one by one, and the one with 200 equal answers."""
EQUAL = 200
RUNS = 3
MARKERS = ("ta-one", "ta-two", "ta-three")
PASSWORD = "a long enough passphrase"
READING_SECONDS = 1.0
"""Pause between two inputs on the bench, while the marker reads the answer."""
_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
_CHOICES = re.compile(r'name="(choice-[^"]+)" value="([^"]*)"')


# ---------------------------------------------------------------- the classes


def demo(folder: Path, students: int) -> Assignment:
    """Create the demo's course with its class, graded."""
    course, people = demo_run.make(folder, students=students, seed=1)
    demo_run.run(course, EXAM, people[EXAM])
    return assignments.load(course, EXAM)


def results_of(assignment: Assignment) -> dict[str, Graded]:
    """Return the results of the demo's class."""
    with open_store(assignment, new=False) as book:
        return dict(book.results(assignment.name))


def large(assignment: Assignment, bases: Sequence[Graded], count: int) -> Iterator[tuple[str, Graded]]:
    """Yield this many students' results: each based on one of the demo, with different written answers."""
    cells = [
        item.cell or question.id
        for question in assignment.rubric.questions
        for item in question.items
        if item.manual
    ]
    cells = list(dict.fromkeys(cells))
    texts = {
        cell: list(synthetic.answers(count, seed=number).values()) for number, cell in enumerate(cells, 1)
    }
    texts[GROUP_CELL][:EQUAL] = ["The encoder sees both sides, the decoder only the past."] * EQUAL
    for number in range(count):
        base, name = bases[number % len(bases)], f"m{number:05}"
        own = {cell: f"{texts[cell][number]} See $d_k$." for cell in cells}
        notebooks = tuple(
            replace(
                notebook,
                cells=tuple(
                    replace(cell, source=own[cell.grade_id])
                    if isinstance(cell, Markdown) and cell.grade_id in own
                    else cell
                    for cell in notebook.cells
                ),
            )
            for notebook in base.notebooks
        )
        yield name, replace(base, score=replace(base.score, student=name), notebooks=notebooks)


def complete(assignment: Assignment, results: Mapping[str, Graded]) -> list[Graded]:
    """Return the results with manual review of every written answer."""
    questions = assignment.rubric.questions
    manual = {(question.id, item.id) for question in questions for item in question.items if item.manual}
    return [
        graded
        for graded in results.values()
        if graded.notebooks
        and all(
            one.status is Status.NEEDS_REVIEW
            for one in graded.score.items
            if (one.question, one.item) in manual
        )
    ]


def enter(slug: str, assignment: Assignment, bases: Sequence[Graded], count: int) -> dict[str, Any]:
    """Create a course with the large class; return the sizes of its results."""
    from django.utils import timezone

    from autograder.service import attempts, versions
    from autograder.service.models import Attempt, CourseRecord, CurrentResult, State
    from autograder.service.store import DatabaseStore

    record = CourseRecord.objects.create(slug=slug, title=slug, secret=assignment.course.secret())
    offer = versions.offer(record, assignment.course, EXAM)
    store, weights, batch = DatabaseStore(record), [], []
    files = {one: _handed_in(assignment, one) for one in {graded.score.student for graded in bases}}
    made = dict(large(assignment, bases, count))
    for number, (student, graded) in enumerate(made.items(), 1):
        weights.append(len(encode(graded)))
        key = Key.of(student, graded.digest, assignment.rubric, "imported")
        batch.append(GradedEntry(key, graded, assignment.rubric))
        if number % 100 == 0 or number == count:
            store.record(batch)
            batch = []
        of_base = files[bases[(number - 1) % len(bases)].score.student]
        attempts.hand_in(offer, student, of_base, courses.SIGNER)
    current = dict(CurrentResult.objects.filter(course=record).values_list("student", "result"))
    for attempt in Attempt.objects.filter(offer=offer):
        Attempt.objects.filter(pk=attempt.pk).update(
            state=State.GRADED, graded_at=timezone.now(), result=current[attempt.student]
        )
    weights.sort()
    return {
        "students": count,
        "result_kb": {
            "least": round(weights[0] / 1024, 1),
            "median": round(statistics.median(weights) / 1024, 1),
            "most": round(weights[-1] / 1024, 1),
        },
    }


def _handed_in(assignment: Assignment, student: str) -> dict[str, bytes]:
    folder = assignment.course.root / "submitted" / student / EXAM
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.suffix == ".ipynb"}


def members(course: CourseRecord) -> None:
    """Add three markers; the same ones in every course."""
    from django.contrib.auth.hashers import make_password

    from autograder.service.models import Account, Member, Role

    for name in MARKERS:
        password = make_password(PASSWORD, hasher="argon2")
        account, _ = Account.objects.get_or_create(username=name, defaults={"password": password})
        Member.objects.create(course=course, account=account, role=Role.TA)


# ---------------------------------------------------------------- over HTTP


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Return median, 95th percentile and maximum, in milliseconds; the number; the load of the machine."""
    ordered = sorted(seconds)
    p95 = statistics.quantiles(ordered, n=20)[-1] if len(ordered) > 19 else ordered[-1]
    places = {"median": statistics.median(ordered), "p95": p95, "most": ordered[-1]}
    found = {name: round(1000 * value, 1) for name, value in places.items()}
    return {**found, "number": len(ordered), "load": round(os.getloadavg()[0], 1)}


class Marker(Struct, eq=False):
    """A signed-in marker."""

    service: Served
    base: str
    """The address of the assignment's pages for staff."""
    session: requests.Session

    def get(self, path: str) -> tuple[str, float]:
        """Load a page; return it, and the seconds to its last byte."""
        started = time.perf_counter()
        answer = self.session.get(self._address(path), timeout=60)
        took = time.perf_counter() - started
        assert answer.status_code == 200, (answer.status_code, path, answer.text[:2000])
        return str(answer.text), took

    def post(self, path: str, sent: Mapping[str, str], **headers: str) -> tuple[requests.Response, float]:
        """Send a form; return the response, and the seconds to its last byte. Redirects are not followed."""
        started = time.perf_counter()
        # Following the redirect would add a second request to the time.
        answer = self.session.post(
            self._address(path), sent, headers=headers, allow_redirects=False, timeout=60
        )
        took = time.perf_counter() - started
        assert answer.status_code in {200, 302}, (answer.status_code, path, answer.text[:2000])
        return answer, took

    def _address(self, path: str) -> str:
        return str(self.service.address(path[1:] if path.startswith("/") else f"{self.base}{path}"))


def signed_in(service: Served, slug: str, name: str, assignment: str = EXAM) -> Marker:
    """Sign in with the form."""
    session = requests.Session()
    page = session.get(service.address("app/accounts/login/"), timeout=60)
    token = _TOKEN.search(page.text)
    assert token, "there is no form to sign in"
    form = {"login": name, "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
    signed = session.post(service.address("app/accounts/login/"), form, timeout=60, allow_redirects=False)
    assert signed.status_code == 302, signed.text
    return Marker(service, f"app/c/{slug}/staff/a/{assignment}/", session)


def filled(page: str) -> dict[str, str]:
    """Fill the form of an answer, or a group, with half of the points for each item."""
    form = page[page.index('class="mark"') :]
    form = form[: form.index("</form>")]
    values: dict[str, list[str]] = {}
    for name, value in _CHOICES.findall(form):
        values.setdefault(name, []).append(value)
    return {**dict(_HIDDEN.findall(form)), **{name: one[len(one) // 2] for name, one in values.items()}}


def go_through(marker: Marker, place: int, number: int) -> tuple[list[float], list[float]]:
    """Mark answers one after another; return the seconds for saving, and for loading the next answer."""
    page, _ = marker.get(f"mark/{place}/")
    token = _TOKEN.search(page)
    assert token
    action = re.search(r'class="mark" action="([^"]+)"', page)
    saves, nexts = [], []
    for _ in range(number):
        assert action, page
        answer, saved = marker.post(action[1], {**filled(page), "then": "next"})
        assert answer.status_code == 302, "an answer was not saved"
        page, took = marker.get(answer.headers["Location"])
        assert "Saved" in page
        action = re.search(r'class="mark" action="([^"]+)"', page)
        saves.append(saved)
        nexts.append(took)
    return saves, nexts


def class_of_many(service: Served, offer: Offer, number: int) -> dict[str, Any]:
    """Measure all requests of the large class."""
    from autograder.service.models import CellPlace

    slug = offer.course.slug
    places = {one.cell: one.pk for one in CellPlace.objects.filter(course=offer.course)}
    people = [signed_in(service, slug, name) for name in MARKERS]
    found: dict[str, Any] = {}
    for one in people:
        one.get("mark/")  # a process loads the assignment at its first request
    found["queue"] = spread([people[0].get("mark/")[1] for _ in range(20)])
    # Warm-up.
    go_through(people[0], places[CELL], 5)
    runs = [go_through(people[0], places[CELL], number) for _ in range(RUNS)]
    found["save"] = spread([took for saves, _ in runs for took in saves])
    found["next"] = spread([took for _, nexts in runs for took in nexts])
    with ThreadPoolExecutor(len(people)) as threads:
        several = list(threads.map(lambda one: go_through(one, places[CELL], number), people))
    found["save_of_three"] = spread([took for saves, _ in several for took in saves])
    found["next_of_three"] = spread([took for _, nexts in several for took in nexts])
    found["groups"] = {}
    for step in STEPS:
        path, first, again = f"mark/{places[CELL]}/groups/?near={step}", [], []
        for _ in range(RUNS):
            # Groups are cached in the database; the first request must compute them.
            service.rows("DELETE FROM service_cache RETURNING 1")
            first.append(people[0].get(path)[1])
            again.append(people[0].get(path)[1])
        found["groups"][str(step)] = {"first": spread(first), "again": spread(again)}
    found["group"] = group_at_once(people[0], places[GROUP_CELL])
    return found


def group_at_once(marker: Marker, place: int) -> dict[str, Any]:
    """Open, mark and undo the largest group several times."""
    page, _ = marker.get(f"mark/{place}/groups/")
    address = re.search(r'class="button" href="([^"]+/group\?near=[^"]+)"', page)
    assert address, "there is no group"
    times: dict[str, list[float]] = {"open": [], "mark": [], "undo": []}
    for _ in range(RUNS + 2):
        page, took = marker.get(address[1].replace("&amp;", "&"))
        times["open"].append(took)
        form = filled(page)
        assert form["rows"].count(":") == EQUAL
        _, took = marker.post(address[1].partition("?")[0], {**form, "then": "next"})
        times["mark"].append(took)
        answer, took = marker.post("mark/undo", {"csrfmiddlewaretoken": form["csrfmiddlewaretoken"]})
        times["undo"].append(took)
        assert "undone" in marker.get(answer.headers["Location"])[0]
    return {name: spread(took) for name, took in times.items()}


# ---------------------------------------------------------------- the bench


def on_the_bench(service: Served, folder: Path, preload: str, tries: int) -> dict[str, Any]:
    """Try inputs in a notebook of the small course with a preloaded module."""
    from autograder.service.models import CourseRecord

    code, source, value = NOTEBOOKS[preload]
    made = small_course.small_course(folder)
    rubric = folder / "rubrics" / f"{small_course.NAME}.toml"
    small_course.changed(rubric, 'preload = ["numpy"]', f'preload = ["{preload}"]')
    generate(made, small_course.NAME)
    secret = open_course(folder).secret()
    record = CourseRecord.objects.create(slug=f"bench-{preload}", title=preload, secret=secret)
    members(record)
    offer = courses.offered(record, folder)
    attempt = courses.handed_in(offer, "s1", courses.answered(folder, softmax_answer=code))
    path, took, opened = f"bench/{attempt.pk}", [], []
    for name in MARKERS:
        marker = signed_in(service, record.slug, name, small_course.NAME)
        token = _TOKEN.search(marker.get(path)[0])
        assert token
        form = {"csrfmiddlewaretoken": token[1], "source": source, "notebook": "code"}
        opened.append(_until_warm(marker, f"{path}/tries?notebook=code"))
        for _ in range(tries):
            time.sleep(READING_SECONDS)
            answer, seconds = marker.post(path, form, **{"HX-Request": "true"})
            assert value in answer.text, answer.text
            took.append(seconds)
    return {"try": spread(took), "opening_seconds": round(max(opened), 1)}


def _until_warm(marker: Marker, path: str) -> float:
    started = time.monotonic()
    while "Ready" not in marker.get(path)[0]:
        assert time.monotonic() - started < 120, "the bench is not ready"
        time.sleep(0.1)
    return time.monotonic() - started


# ---------------------------------------------------------------- all of it


def measured(
    place: Path, assignment: Assignment, options: argparse.Namespace
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Serve the demo's course, and measure; yield each part as soon as it is done."""
    folder, results = assignment.course.root, results_of(assignment)
    other = Path(shutil.copytree(folder, place / "formgrader"))
    with Served(folder, "--workers", "-1") as service, setup.open_tables(service.database_url):
        from autograder.service.models import CourseRecord, Offer

        members(CourseRecord.objects.get(slug=service.slug))
        if not options.only or "large" in options.only:
            made = enter("large", assignment, complete(assignment, results), options.answers)
            offer = Offer.objects.select_related("course").get(course__slug="large")
            members(offer.course)
            yield "large", {**made, **class_of_many(service, offer, options.each)}
        if not options.only or "bench" in options.only:
            yield (
                "bench",
                {name: on_the_bench(service, place / name, name, options.tries) for name in NOTEBOOKS},
            )
        if not options.only or "actions" in options.only:
            offer = Offer.objects.select_related("course").get(course__slug=service.slug, assignment=EXAM)
            yield "actions", formgrader.compared(service, offer, other, (MARKERS[0], PASSWORD))


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--students", type=int, default=60, help="of the demo's class")
    parser.add_argument("--answers", type=int, default=2000, help="students of the large class")
    parser.add_argument("--each", type=int, default=100, help="answers that are gone through in a run")
    parser.add_argument("--tries", type=int, default=20, help="inputs of each of three people on the bench")
    parser.add_argument("--only", nargs="*", choices=("large", "bench", "actions"), help="default: all")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory(prefix="autograder-marking-") as place:
        assignment = demo(Path(place) / "course", options.students)
        for name, value in measured(Path(place), assignment, options):
            found[name] = value
            for one, figures in value.items():
                print(f"{name}: {one}: {figures}", flush=True)
    if options.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
