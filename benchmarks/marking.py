"""Response times of marking: `python benchmarks/marking.py [--json]`.

The demo's class takes the exam and is graded; a service opens its folder, on this machine.

1. ``large``: a class made from the demo's results, each with different written answers. Over HTTP, each from
   the request to its last byte: the list of cells, the next answer, saving, groups at every step of the
   slider, with an empty cache and once more, a group of 200 marked at once and undone. Then the next
   answer and saving with three markers at once.
2. ``bench``: inputs tried on a warm bench, of a notebook that needs numpy and of one that needs torch.

Times are wall-clock milliseconds, measured by a program on the same processors, and so an upper bound; the
load of the machine (`os.getloadavg`, one minute) is reported with them. With --json the last line is one JSON
object.
"""

from __future__ import annotations

import argparse
import json
import os
import re
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

from autograder.app import demo_run, open_course  # noqa: E402 - the tests are found only now
from autograder.app.stores import open_store  # noqa: E402
from autograder.core.records import GradingResult, Markdown, Status  # noqa: E402
from autograder.grading import assignment as assignments  # noqa: E402
from autograder.grading.assignment import Assignment  # noqa: E402
from autograder.grading.release_generation import generate_release  # noqa: E402
from autograder.grading.store import GradedEntry, ResultKey, encode_result  # noqa: E402
from autograder.marking.grouping import STEPS  # noqa: E402
from autograder.service import setup  # noqa: E402
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


def create_demo(folder: Path, students: int) -> Assignment:
    """Create the demo's course with its class, graded."""
    course, people = demo_run.make_course(folder, students=students, seed=1)
    demo_run.run_demo(course, EXAM, people[EXAM])
    return assignments.load_assignment(course, EXAM)


def load_results(assignment: Assignment) -> dict[str, GradingResult]:
    """Return the results of the demo's class."""
    with open_store(assignment, new=False) as book:
        return dict(book.load_results(assignment.name))


def make_large_class(
    assignment: Assignment, bases: Sequence[GradingResult], count: int
) -> Iterator[tuple[str, GradingResult]]:
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
        answers = {cell: f"{texts[cell][number]} See $d_k$." for cell in cells}
        notebooks = tuple(
            replace(
                notebook,
                cells=tuple(
                    replace(cell, source=answers[cell.grade_id])
                    if isinstance(cell, Markdown) and cell.grade_id in answers
                    else cell
                    for cell in notebook.cells
                ),
            )
            for notebook in base.notebooks
        )
        yield name, replace(base, score=replace(base.score, student=name), notebooks=notebooks)


def select_complete(assignment: Assignment, results: Mapping[str, GradingResult]) -> list[GradingResult]:
    """Return the results with manual review of every written answer."""
    questions = assignment.rubric.questions
    manual = {(question.id, item.id) for question in questions for item in question.items if item.manual}
    return [
        graded
        for graded in results.values()
        if graded.notebooks
        and all(
            result.status is Status.NEEDS_REVIEW
            for result in graded.score.items
            if (result.question, result.item) in manual
        )
    ]


def create_large_course(
    slug: str, assignment: Assignment, bases: Sequence[GradingResult], count: int
) -> dict[str, Any]:
    """Create a course with the large class; return the sizes of its results."""
    from django.utils import timezone

    from autograder.service import attempts, versions
    from autograder.service.models import Attempt, CourseRecord, CurrentResult, State
    from autograder.service.store import DatabaseStore

    record = CourseRecord.objects.create(slug=slug, title=slug, secret=assignment.course.load_secret())
    offer = versions.create_or_update_offer(record, assignment.course, EXAM)
    store, weights, batch = DatabaseStore(record), [], []
    files = {
        student_name: _read_submitted(assignment, student_name)
        for student_name in {graded.score.student for graded in bases}
    }
    results = dict(make_large_class(assignment, bases, count))
    for number, (student, graded) in enumerate(results.items(), 1):
        weights.append(len(encode_result(graded)))
        key = ResultKey.from_submission(student, graded.digest, assignment.rubric, "imported")
        batch.append(GradedEntry(key, graded, assignment.rubric))
        if number % 100 == 0 or number == count:
            store.record_results(batch)
            batch = []
        of_base = files[bases[(number - 1) % len(bases)].score.student]
        attempts.submit_files(offer, student, of_base, courses.SIGNER)
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


def _read_submitted(assignment: Assignment, student: str) -> dict[str, bytes]:
    folder = assignment.course.root / "submitted" / student / EXAM
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".ipynb"}


def add_markers(course: CourseRecord) -> None:
    """Add three markers; the same ones in every course."""
    from django.contrib.auth.hashers import make_password

    from autograder.service.models import Account, Member, Role

    for name in MARKERS:
        password = make_password(PASSWORD, hasher="argon2")
        account, _ = Account.objects.get_or_create(username=name, defaults={"password": password})
        Member.objects.create(course=course, account=account, role=Role.TA)


# ---------------------------------------------------------------- over HTTP


def summarize_times(seconds: Sequence[float]) -> dict[str, float]:
    """Return median, 95th percentile and maximum, in milliseconds; the number; the load of the machine."""
    ordered = sorted(seconds)
    p95 = statistics.quantiles(ordered, n=20)[-1] if len(ordered) > 19 else ordered[-1]
    percentiles = {"median": statistics.median(ordered), "p95": p95, "most": ordered[-1]}
    milliseconds = {name: round(1000 * value, 1) for name, value in percentiles.items()}
    return {**milliseconds, "number": len(ordered), "load": round(os.getloadavg()[0], 1)}


class Marker(Struct, eq=False):
    """A signed-in marker."""

    service: Served
    base: str
    """The address of the assignment's pages for staff."""
    session: requests.Session

    def get(self, path: str) -> tuple[str, float]:
        """Load a page; return it, and the seconds to its last byte."""
        started = time.perf_counter()
        answer = self.session.get(self._build_address(path), timeout=60)
        took = time.perf_counter() - started
        assert answer.status_code == 200, (answer.status_code, path, answer.text[:2000])
        return str(answer.text), took

    def post(self, path: str, sent: Mapping[str, str], **headers: str) -> tuple[requests.Response, float]:
        """Send a form; return the response, and the seconds to its last byte. Redirects are not followed."""
        started = time.perf_counter()
        # Following the redirect would add a second request to the time.
        answer = self.session.post(
            self._build_address(path), sent, headers=headers, allow_redirects=False, timeout=60
        )
        took = time.perf_counter() - started
        assert answer.status_code in {200, 302}, (answer.status_code, path, answer.text[:2000])
        return answer, took

    def _build_address(self, path: str) -> str:
        return str(self.service.address(path[1:] if path.startswith("/") else f"{self.base}{path}"))


def sign_in(service: Served, slug: str, name: str, assignment: str = EXAM) -> Marker:
    """Sign in with the form."""
    session = requests.Session()
    page = session.get(service.address("app/accounts/login/"), timeout=60)
    token = _TOKEN.search(page.text)
    assert token, "there is no form to sign in"
    form = {"login": name, "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
    signed = session.post(service.address("app/accounts/login/"), form, timeout=60, allow_redirects=False)
    assert signed.status_code == 302, signed.text
    return Marker(service, f"app/c/{slug}/staff/a/{assignment}/", session)


def fill_form(page: str) -> dict[str, str]:
    """Fill the form of an answer, or a group, with half of the points for each item."""
    form = page[page.index('class="mark"') :]
    form = form[: form.index("</form>")]
    values: dict[str, list[str]] = {}
    for name, value in _CHOICES.findall(form):
        values.setdefault(name, []).append(value)
    return {
        **dict(_HIDDEN.findall(form)),
        **{name: values_of_item[len(values_of_item) // 2] for name, values_of_item in values.items()},
    }


def go_through(marker: Marker, cell_id: int, number: int) -> tuple[list[float], list[float]]:
    """Mark answers one after another; return the seconds for saving, and for loading the next answer."""
    page, _ = marker.get(f"mark/{cell_id}/")
    token = _TOKEN.search(page)
    assert token
    action = re.search(r'class="mark" action="([^"]+)"', page)
    saves, nexts = [], []
    for _ in range(number):
        assert action, page
        answer, saved = marker.post(action[1], {**fill_form(page), "then": "next"})
        assert answer.status_code == 302, "an answer was not saved"
        page, took = marker.get(answer.headers["Location"])
        assert "Saved" in page
        action = re.search(r'class="mark" action="([^"]+)"', page)
        saves.append(saved)
        nexts.append(took)
    return saves, nexts


def measure_large_class(service: Served, offer: Offer, number: int) -> dict[str, Any]:
    """Measure all requests of the large class."""
    from autograder.service.models import CellPlace

    slug = offer.course.slug
    cell_ids = {marker.cell: marker.pk for marker in CellPlace.objects.filter(course=offer.course)}
    people = [sign_in(service, slug, name) for name in MARKERS]
    figures: dict[str, Any] = {}
    for marker in people:
        marker.get("mark/")  # a process loads the assignment at its first request
    figures["queue"] = summarize_times([people[0].get("mark/")[1] for _ in range(20)])
    # Warm-up.
    go_through(people[0], cell_ids[CELL], 5)
    runs = [go_through(people[0], cell_ids[CELL], number) for _ in range(RUNS)]
    figures["save"] = summarize_times([took for saves, _ in runs for took in saves])
    figures["next"] = summarize_times([took for _, nexts in runs for took in nexts])
    with ThreadPoolExecutor(len(people)) as threads:
        several = list(threads.map(lambda marker: go_through(marker, cell_ids[CELL], number), people))
    figures["save_of_three"] = summarize_times([took for saves, _ in several for took in saves])
    figures["next_of_three"] = summarize_times([took for _, nexts in several for took in nexts])
    figures["groups"] = {}
    for step in STEPS:
        path, first, again = f"mark/{cell_ids[CELL]}/groups/?near={step}", [], []
        for _ in range(RUNS):
            # Groups are cached in the database; the first request must compute them.
            service.rows("DELETE FROM service_cache RETURNING 1")
            first.append(people[0].get(path)[1])
            again.append(people[0].get(path)[1])
        figures["groups"][str(step)] = {"first": summarize_times(first), "again": summarize_times(again)}
    figures["group"] = mark_group(people[0], cell_ids[GROUP_CELL])
    return figures


def mark_group(marker: Marker, cell_id: int) -> dict[str, Any]:
    """Open, mark and undo the largest group several times."""
    page, _ = marker.get(f"mark/{cell_id}/groups/")
    address = re.search(r'class="button" href="([^"]+/group\?near=[^"]+)"', page)
    assert address, "there is no group"
    times: dict[str, list[float]] = {"open": [], "mark": [], "undo": []}
    for _ in range(RUNS + 2):
        page, took = marker.get(address[1].replace("&amp;", "&"))
        times["open"].append(took)
        form = fill_form(page)
        assert form["rows"].count(":") == EQUAL
        _, took = marker.post(address[1].partition("?")[0], {**form, "then": "next"})
        times["mark"].append(took)
        answer, took = marker.post("mark/undo", {"csrfmiddlewaretoken": form["csrfmiddlewaretoken"]})
        times["undo"].append(took)
        assert "undone" in marker.get(answer.headers["Location"])[0]
    return {name: summarize_times(took) for name, took in times.items()}


# ---------------------------------------------------------------- the bench


def try_on_bench(service: Served, folder: Path, preload: str, tries: int) -> dict[str, Any]:
    """Try inputs in a notebook of the small course with a preloaded module."""
    from autograder.service.models import CourseRecord

    code, source, value = NOTEBOOKS[preload]
    course = small_course.small_course(folder)
    rubric = folder / "rubrics" / f"{small_course.NAME}.toml"
    small_course.changed(rubric, 'preload = ["numpy"]', f'preload = ["{preload}"]')
    generate_release(course, small_course.NAME)
    secret = open_course(folder).load_secret()
    record = CourseRecord.objects.create(slug=f"bench-{preload}", title=preload, secret=secret)
    add_markers(record)
    offer = courses.offered(record, folder)
    attempt = courses.handed_in(offer, "s1", courses.answered(folder, softmax_answer=code))
    path, took, opened = f"bench/{attempt.pk}", [], []
    for name in MARKERS:
        marker = sign_in(service, record.slug, name, small_course.NAME)
        token = _TOKEN.search(marker.get(path)[0])
        assert token
        form = {"csrfmiddlewaretoken": token[1], "source": source, "notebook": "code"}
        opened.append(_wait_until_warm(marker, f"{path}/tries?notebook=code"))
        for _ in range(tries):
            time.sleep(READING_SECONDS)
            answer, seconds = marker.post(path, form, **{"HX-Request": "true"})
            assert value in answer.text, answer.text
            took.append(seconds)
    return {"try": summarize_times(took), "opening_seconds": round(max(opened), 1)}


def _wait_until_warm(marker: Marker, path: str) -> float:
    started = time.monotonic()
    while "Ready" not in marker.get(path)[0]:
        assert time.monotonic() - started < 120, "the bench is not ready"
        time.sleep(0.1)
    return time.monotonic() - started


# ---------------------------------------------------------------- all of it


def measure_parts(
    root: Path, assignment: Assignment, options: argparse.Namespace
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Serve the demo's course, and measure; yield each part as soon as it is done."""
    folder, results = assignment.course.root, load_results(assignment)
    with Served(folder, "--workers", "-1") as service, setup.open_tables(service.database_url):
        from autograder.service.models import CourseRecord, Offer

        add_markers(CourseRecord.objects.get(slug=service.slug))
        if not options.only or "large" in options.only:
            sizes = create_large_course(
                "large", assignment, select_complete(assignment, results), options.answers
            )
            offer = Offer.objects.select_related("course").get(course__slug="large")
            add_markers(offer.course)
            yield "large", {**sizes, **measure_large_class(service, offer, options.each)}
        if not options.only or "bench" in options.only:
            yield (
                "bench",
                {name: try_on_bench(service, root / name, name, options.tries) for name in NOTEBOOKS},
            )


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--students", type=int, default=60, help="of the demo's class")
    parser.add_argument("--answers", type=int, default=2000, help="students of the large class")
    parser.add_argument("--each", type=int, default=100, help="answers that are gone through in a run")
    parser.add_argument("--tries", type=int, default=20, help="inputs of each of three people on the bench")
    parser.add_argument("--only", nargs="*", choices=("large", "bench"), help="default: all")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures_by_part = {}
    with tempfile.TemporaryDirectory(prefix="autograder-marking-") as temporary:
        assignment = create_demo(Path(temporary) / "course", options.students)
        for name, value in measure_parts(Path(temporary), assignment, options):
            figures_by_part[name] = value
            for figure, figures in value.items():
                print(f"{name}: {figure}: {figures}", flush=True)
    if options.json:
        print(json.dumps(figures_by_part))


if __name__ == "__main__":
    main()
