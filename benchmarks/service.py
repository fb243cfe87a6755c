"""Throughput and response times of the service: `python benchmarks/service.py [--json]`.

The demo's class submits the exam to a service started by its usual command, on this machine.

1. ``together``: all students sign in, wait for each other, and submit at the same moment by the page. From
   sending to the page that shows the receipt and how answers were read; and to the mark.
2. ``minute``: uploads evenly over one minute through the API. From sending to the receipt; then the time
   until the last one is graded.
3. ``workers``: equally many submissions wait, and one worker grades them, then two; each one submission at a
   time, on a separate processor with its boxes. The measure is the work between a worker's first result and
   its last: each submission counts the seconds that it takes one worker alone. (The number of results would
   be misleading: those with endless loops take twenty times as long as others, and chance decides which
   worker still has one of them at the end.)
4. ``workers_with_half``: the same, each worker and its boxes with half of a processor (a CPU quota; root and
   control groups of version 1). Two of them leave half of the machine to the database: as on a machine
   that has processors for both.

Times are wall-clock times, measured by a program on the same two processors, and so an upper bound. With
--json the last line is one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import requests

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder.app import demo_run  # noqa: E402 - served.py lies in tests
from autograder.service.setup import DATABASE_URL  # noqa: E402
from tests.support.accounts import PASSWORD  # noqa: E402
from tests.support.served import Served, wait_for  # noqa: E402

EXAM = "dl4nlp-exam"
GRADED = "SELECT count(*) FROM service_attempt WHERE state = 'graded'"
LONGEST_SECONDS = 1200.0
QUOTAS = Path("/sys/fs/cgroup/cpu")
RESULT = re.compile(r"attempt ([0-9a-f-]+) graded in .*")
FIRST_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


def create_course(folder: Path, students: int) -> dict[str, dict[str, bytes]]:
    """Create the demo's course without submissions; return the files that its class will submit, by
    student.
    """
    demo_run.make_course(folder, students=students, seed=1)
    shutil.move(folder / "submitted", folder.parent / "class")
    return {
        path.parent.name: {
            path_of_file.name: path_of_file.read_bytes()
            for path_of_file in sorted(path.iterdir())
            if path_of_file.is_file()
        }
        for path in sorted((folder.parent / "class").glob(f"*/{EXAM}"))
    }


def summarize_times(seconds: Sequence[float]) -> dict[str, float]:
    """Return median, 95th percentile and maximum, in milliseconds."""
    ordered = sorted(seconds)
    percentiles = {"median": statistics.median(ordered), "p95": ordered[int(0.95 * (len(ordered) - 1))]}
    return {name: round(1000 * value, 1) for name, value in {**percentiles, "most": ordered[-1]}.items()}


def submit_by_page(
    service: Served, student: str, files: dict[str, bytes], start: threading.Barrier
) -> tuple[float, float]:
    """Sign in and submit with the others; return the seconds to the receipt, and to the mark."""
    browser = requests.Session()
    browser.request = functools.partial(browser.request, timeout=60)  # type: ignore[method-assign]
    page = service.address(f"app/c/{service.slug}/a/{EXAM}/")
    token = FIRST_TOKEN.search(browser.get(page).text)
    assert token, "there is no form to sign in"
    form = {"login": student, "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
    signed_in = browser.post(
        service.address("app/accounts/login/"), {**form, "next": page[len(service.address()) - 1 :]}
    )
    token = FIRST_TOKEN.search(signed_in.text)
    assert token, signed_in.status_code
    assert signed_in.url == page, signed_in.url
    start.wait()
    began = time.monotonic()
    sent = [("files", (name, data)) for name, data in files.items()]
    seen = browser.post(page, {"csrfmiddlewaretoken": token[1]}, files=sent)
    visible = time.monotonic() - began
    assert (seen.status_code, "receipt" if "receipt" in seen.text else seen.text) == (200, "receipt"), student
    while "hx-get" in browser.get(f"{seen.url}state").text:  # the page polls until the mark is there
        assert time.monotonic() - began < LONGEST_SECONDS, "not graded"
        time.sleep(0.25)
    return visible, time.monotonic() - began


def measure_together(service: Served, papers: dict[str, dict[str, bytes]]) -> dict[str, Any]:
    """Submit for all students at the same moment."""
    start = threading.Barrier(len(papers), timeout=20)  # a failed sign-in breaks the barrier
    with ThreadPoolExecutor(len(papers)) as threads:
        took = list(
            threads.map(lambda entry: submit_by_page(service, entry[0], entry[1], start), papers.items())
        )
    visible, marked = zip(*took, strict=True)
    return {"students": len(papers), "visible": summarize_times(visible), "marked": summarize_times(marked)}


def measure_minute(
    service: Served, papers: dict[str, dict[str, bytes]], keys: dict[str, str], uploads: int
) -> dict[str, Any]:
    """Upload submissions evenly over a minute."""
    people, began = sorted(papers), time.monotonic()
    before = service.rows(GRADED)[0][0]

    def send_upload(number: int) -> float:
        time.sleep(max(0.0, began + 60 * number / uploads - time.monotonic()))
        student, sent = people[number % len(people)], time.monotonic()
        parts = [("files", (name, data)) for name, data in papers[student].items()]
        address = service.address(f"api/hand-in/{service.slug}/{EXAM}")
        answer = requests.post(
            address, files=parts, headers={"Authorization": f"Bearer {keys[student]}"}, timeout=60
        )
        assert answer.status_code == 201, answer.text
        return time.monotonic() - sent

    with ThreadPoolExecutor(32) as threads:
        receipts = list(threads.map(send_upload, range(uploads)))
    sent_for = time.monotonic() - began
    wait_for(lambda: service.rows(GRADED)[0][0] == before + uploads, LONGEST_SECONDS, "not all were graded")
    return {
        "uploads": uploads,
        "seconds": round(sent_for, 1),
        "receipts": summarize_times(receipts),
        "graded": uploads,
        "graded_after_seconds": round(time.monotonic() - began, 1),
    }


@contextlib.contextmanager
def create_quotas(number: int, share: float | None) -> Iterator[list[Path]]:
    """Create control groups that each have a share of a processor; none without a share."""
    groups = [QUOTAS / f"autograder-bench-{os.getpid()}-{index}" for index in range(number if share else 0)]
    for group in groups:
        group.mkdir()
        period = int((group / "cpu.cfs_period_us").read_text())
        (group / "cpu.cfs_quota_us").write_text(str(int(period * (share or 1))))
    try:
        yield groups
    finally:
        for group in groups:
            group.rmdir()


@contextlib.contextmanager
def run_workers(service: Served, number: int, groups: Sequence[Path], logs: Path) -> Iterator[None]:
    """Run workers meanwhile, each for one submission at a time, on one processor, in a group, with a log."""
    environment = {**os.environ, DATABASE_URL: service.database_url, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "autograder", "worker", "--workers", "1"]
    cores = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as opened:
        workers = [
            subprocess.Popen(
                ["taskset", "--cpu-list", str(cores[index % len(cores)]), *command],
                env=environment,
                stderr=opened.enter_context((logs / str(index)).open("w")),
                start_new_session=True,
            )
            for index in range(number)
        ]
        for worker, group in zip(workers, groups, strict=False):
            (group / "cgroup.procs").write_text(str(worker.pid))
        try:
            yield
        finally:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.wait()


Results = list[tuple[datetime, str]]
"""Results of one worker in order: time and student."""


def drain_queue(
    service: Served,
    papers: dict[str, dict[str, bytes]],
    keys: dict[str, str],
    *,
    number: int,
    each: int,
    share: float | None,
) -> list[Results]:
    """Return the results of each worker for a queue that was full before they started."""
    before = service.rows(GRADED)[0][0]
    with tempfile.TemporaryDirectory(prefix="autograder-bench-") as temporary:
        for _ in range(each):
            for student, files in papers.items():
                service.hand_in(EXAM, keys[student], files, Path(temporary) / "sent" / student)
        count = before + each * len(papers)
        with create_quotas(number, share) as groups, run_workers(service, number, groups, Path(temporary)):
            wait_for(lambda: service.rows(GRADED)[0][0] == count, LONGEST_SECONDS, "not all were graded", 0.5)
        owners = {str(pk): student for pk, student in service.rows("SELECT id, student FROM service_attempt")}
        lines = [
            map(json.loads, (Path(temporary) / str(worker)).read_text().splitlines())
            for worker in range(number)
        ]
    log_entries = [
        [(line["time"], RESULT.fullmatch(line["message"])) for line in each_line] for each_line in lines
    ]
    results = [
        [(datetime.fromisoformat(moment), owners[match[1]]) for moment, match in worker if match]
        for worker in log_entries
    ]
    assert sum(map(len, results)) == each * len(papers), "the workers' logs do not tell of each result"
    return results


def compute_seconds_each(results: Results) -> dict[str, float]:
    """Return how long one worker alone takes for each student's submission."""
    took: dict[str, list[float]] = {}
    for (began, _), (ended, student) in pairwise(results):
        took.setdefault(student, []).append((ended - began).total_seconds())
    return {student: statistics.mean(seconds) for student, seconds in took.items()}


def compute_rates(workers: Sequence[Results], alone: dict[str, float]) -> tuple[float, float]:
    """Return submissions per second of all workers, and seconds of one worker's work per second."""
    spans = [(results[-1][0] - results[0][0]).total_seconds() for results in workers]
    # Without the first result: its work was done before the span begins.
    work = [sum(alone[student] for _, student in results[1:]) for results in workers]
    number = sum((len(results) - 1) / span for results, span in zip(workers, spans, strict=True))
    return number, sum(done / span for done, span in zip(work, spans, strict=True))


def compare_workers(
    service: Served,
    papers: dict[str, dict[str, bytes]],
    keys: dict[str, str],
    *,
    each: int,
    share: float | None,
) -> dict[str, float]:
    """Measure one worker, then two: submissions per second, and the ratio of the work they do."""
    (single,) = drain_queue(service, papers, keys, number=1, each=each, share=share)
    pair = drain_queue(service, papers, keys, number=2, each=each, share=share)
    alone = compute_seconds_each(single)
    rate, work = compute_rates(pair, alone)
    figures = {"one": compute_rates([single], alone)[0], "two": rate, "ratio": work}
    return {name: round(value, 2) for name, value in figures.items()}


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--students", type=int, default=20)
    parser.add_argument("--uploads", type=int, default=300)
    parser.add_argument("--each", type=int, default=4, help="submissions of each student for the workers")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures: dict[str, Any] = {}

    def report_figure(name: str, value: Any) -> None:
        figures[name] = value
        print(f"{name}: {value}", flush=True)

    with tempfile.TemporaryDirectory(prefix="autograder-bench-") as temporary:
        folder = Path(temporary) / "course"
        papers = create_course(folder, options.students)
        second_folder = Path(shutil.copytree(folder, Path(temporary) / "other"))  # another database
        with Served(folder) as service:
            keys = service.accounts(sorted(papers))
            first = next(iter(papers))
            began = time.monotonic()
            service.hand_in(EXAM, keys[first], papers[first], Path(temporary) / "first")
            wait_for(lambda: service.rows(GRADED) == [(1,)], LONGEST_SECONDS, "not graded")
            report_figure("first_seconds", round(time.monotonic() - began, 1))
            report_figure("together", measure_together(service, papers))
            report_figure("minute", measure_minute(service, papers, keys, options.uploads))
            sizes = service.rows(
                "SELECT pg_database_size(current_database()), (SELECT count(*) FROM service_attempt)"
            )
            report_figure("database_kb_per_attempt", round(sizes[0][0] / 1024 / sizes[0][1]))
        with Served(second_folder, "--workers", "-1") as service:
            keys = service.accounts(sorted(papers))
            shares = {"workers": None, "workers_with_half": 0.5 if QUOTAS.is_dir() else 0}
            for name, share in shares.items():
                if share == 0:
                    report_figure(name, f"not measured: there is no {QUOTAS}")
                    continue
                report_figure(name, compare_workers(service, papers, keys, each=options.each, share=share))
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
