"""Load on the service: `python benchmarks/service.py [PHASE ...] [--students N] [--minutes M] [--json]`.

The service is started by its usual command, on this machine.

1. ``exam``: N students and five TAs use the pages for M minutes, see `service_class.Exam`. The assignment is
   the small one of the tests, with one answer to mark by hand and no PyTorch, so that grading on the same
   machine keeps up: the pages are measured, and not the sandbox. Seconds from sending a request to the whole
   answer, redirects included; for a submission this is the page with the receipt. A connection for each
   person, without a proxy. With ``--kills K`` worker, database and web processes get SIGKILL in turns, and
   people try again as patient ones do. Requests fail then, but nothing may be lost: the facts count receipts
   without an attempt, attempts without a result, and results that no attempt or more than one has.
2. ``workers``: equally many submissions of the demo's exam wait, and one worker grades them, then two; each
   one submission at a time, on a separate processor with its boxes. The measure is the work between a
   worker's first result and its last: each submission counts the seconds that it takes one worker alone.
   (The number of results would be misleading: those with endless loops take twenty times as long as others,
   and chance decides which worker still has one of them at the end.)
3. ``workers_with_quota``: one, two and four workers, each with its boxes at 0.4 of a processor (a CPU quota;
   root and control groups of version 1), so that something is left for the database.

Times are wall-clock times, measured by a program on the same processors, and so an upper bound. It prints
Markdown tables; with --json it prints one JSON object instead.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
from service_class import Exam, RequestFailed

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder.app import demo_run  # noqa: E402 - served.py lies in tests
from autograder.service.setup import DATABASE_URL  # noqa: E402
from tests.service.course import answered  # noqa: E402
from tests.service.course import small as release_small_course  # noqa: E402
from tests.support import small_course  # noqa: E402
from tests.support.accounts import PASSWORD  # noqa: E402
from tests.support.served import Served, wait_for  # noqa: E402

EXAM = "dl4nlp-exam"
GRADED = "SELECT count(*) FROM service_attempt WHERE state = 'graded'"
LONGEST_SECONDS = 1200.0
QUOTAS = Path("/sys/fs/cgroup/cpu")
RESULT = re.compile(r"attempt ([0-9a-f-]+) graded in .*")
ASSISTANTS = 5
QUOTAS_BY_PHASE: dict[str, tuple[tuple[int, ...], float | None]] = {
    "workers": ((1, 2), None),
    "workers_with_quota": ((1, 2, 4), 0.4),
}
"""Numbers of workers, and the share of a processor that each of them has."""


def create_course(folder: Path, students: int) -> dict[str, dict[str, bytes]]:
    """Create the demo's course without submissions; return the files of its class by student.

    A student whose notebook breaks off is omitted: the service refuses it at once.
    """
    demo_run.make_course(folder, students=students, seed=1)
    shutil.move(folder / "submitted", folder.parent / "class")
    papers = {
        path.parent.name: {file.name: file.read_bytes() for file in sorted(path.iterdir()) if file.is_file()}
        for path in sorted((folder.parent / "class").glob(f"*/{EXAM}"))
    }
    return {student: files for student, files in papers.items() if _is_complete(files)}


def _is_complete(files: dict[str, bytes]) -> bool:
    try:
        for name, data in files.items():
            if name.endswith(".ipynb"):
                json.loads(data)
    except ValueError:
        return False
    return True


def measure_exam(folder: Path, students: int, minutes: float, kills: int = 0) -> dict[str, Any]:
    """Let a class sit an exam, and kill parts of the service meanwhile."""
    files = {
        f"student-{number:04}": answered(folder, mlp_why=f"There are two matrices, says student {number}.")
        for number in range(students)
    }
    assistants = [f"assistant-{number}" for number in range(ASSISTANTS)]
    with Served(folder) as service:
        began = time.monotonic()
        service.accounts(sorted(files))
        service.accounts(assistants, role="ta")
        service.accounts(["instructor"], role="instructor")
        prepared = time.monotonic() - began
        used = read_processor_seconds(service.pages())
        first_process = service.pid
        page = f"/app/c/{service.slug}/a/{small_course.NAME}/"
        staff_page = f"/app/c/{service.slug}/staff/a/{small_course.NAME}/"
        exam = Exam(
            service.port,
            page=page,
            staff_page=staff_page,
            seconds=60 * minutes,
            files=files,
            password=PASSWORD,
            patient=bool(kills),
        )
        began = time.monotonic()
        people, others = exam.start(assistants)
        killer = threading.Thread(target=kill_parts, args=(service, kills, began, 60 * minutes))
        killer.start()
        queue = watch_queue(service, exam, began, 60 * minutes)
        killer.join()
        with contextlib.suppress(RequestFailed):
            exam.publish_marks("instructor")
        exam.published.set()
        for thread in people:
            thread.join()
        exam.over.set()
        for thread in others:
            thread.join()
        # Processes that were killed cannot be asked.
        used = read_processor_seconds(service.pages()) - (used if service.pid == first_process else 0)
        ((marked,),) = service.rows("SELECT count(*) FROM service_cellmark WHERE points IS NOT NULL")
        sizes = service.rows("SELECT pg_database_size(current_database()), count(*) FROM service_attempt")
        losses = count_losses(service, exam)
    return {
        "students": students,
        "minutes": minutes,
        "kills": kills,
        **losses,
        "accounts_seconds": round(prepared, 1),
        "submissions": exam.submissions,
        "marked_answers": marked,
        "gave_up": len(exam.gave_up),
        "first_reasons": sorted(exam.gave_up)[:5],
        "pages_processor_seconds": round(used, 1),
        "queue_empty_after_seconds": queue[-1]["seconds"],
        "database_kb_per_attempt": round(sizes[0][0] / 1024 / max(1, sizes[0][1])),
        "requests": exam.recorder.summarize_kinds(),
        "queue": queue,
    }


def kill_parts(service: Served, kills: int, began: float, seconds: float) -> None:
    """Kill worker, database and web processes in turns during the exam; serve again after the latter."""
    chance = random.Random(7)
    for number in range(kills):
        moment = began + seconds * (number + chance.uniform(0.1, 0.9)) / kills
        time.sleep(max(0.0, moment - time.monotonic()))
        victim = ("worker", "database", "web")[number % 3]
        if victim == "web":
            service.kill_and_restart()
        else:
            service.kill(victim)


def count_losses(service: Served, exam: Exam) -> dict[str, int]:
    """Count what was lost or doubled, by the receipts that students were shown."""
    attempts = service.rows("SELECT student, number, digest, result_id FROM service_attempt")
    results = service.rows("SELECT student, submission FROM service_storedresult")
    known = {(student, number) for student, number, _, _ in attempts}
    shown = {(name, int(address.split("/")[-2])) for name, address in exam.receipts}
    submitted = {(student, digest) for student, _, digest, _ in attempts}
    return {
        "receipts_without_attempt": len(shown - known),
        "attempts_without_result": sum(result is None for *_, result in attempts),
        "results_without_attempt": len(set(results) - submitted),
        "doubled_results": len(results) - len(set(results)),
    }


def read_processor_seconds(processes: Sequence[int]) -> float:
    """Return the processor time that processes have used."""
    ticks = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])  # utime and stime, see proc(5)
    return ticks / os.sysconf("SC_CLK_TCK")


def watch_queue(service: Served, exam: Exam, began: float, seconds: float) -> list[dict[str, float]]:
    """Return attempts by state over time, until the exam has ended and everything is graded."""
    samples: list[dict[str, float]] = []
    while True:
        time.sleep(min(10.0, seconds / 12))
        try:
            ((waiting, running),) = service.rows(
                "SELECT count(*) FILTER (WHERE state = 'waiting'), count(*) FILTER (WHERE state = 'running')"
                " FROM service_attempt"
            )
        except psycopg.OperationalError:  # it was killed just now
            continue
        passed = time.monotonic() - began
        samples.append({"seconds": round(passed), "waiting": waiting, "running": running})
        # A student who was kept waiting for a page submits after the end.
        pending = exam.is_submitting or waiting or running
        if (passed > seconds and not pending) or passed > seconds + LONGEST_SECONDS:
            return samples


def format_exam(figures: dict[str, Any]) -> str:
    """Return the figures of the exam as Markdown tables."""
    lines = ["| request | count | failures | median s | p95 s | p99 s |", "|---|---|---|---|---|---|"]
    for kind, row in figures["requests"].items():
        cells = [kind, *(row[name] for name in ("count", "failures", "median", "p95", "p99"))]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", "| second | attempts waiting | being graded |", "|---|---|---|"]
    lines += [f"| {row['seconds']} | {row['waiting']} | {row['running']} |" for row in figures["queue"]]
    facts = [name for name, value in figures.items() if name not in {"requests", "queue"}]
    lines += ["", "| fact | value |", "|---|---|", *(f"| {name} | {figures[name]} |" for name in facts)]
    return "\n".join(lines)


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
    numbers: Sequence[int],
    each: int,
    share: float | None,
) -> dict[str, float]:
    """Measure numbers of workers: submissions per second, and how much more work they do than the first."""
    figures: dict[str, float] = {}
    alone: dict[str, float] = {}
    first = 0.0
    for number in numbers:
        workers = drain_queue(service, papers, keys, number=number, each=each, share=share)
        alone = alone or compute_seconds_each(workers[0])
        rate, work = compute_rates(workers, alone)
        first = first or work
        figures |= {f"{number}: submissions per second": rate, f"{number}: times the work": work / first}
    return {name: round(value, 2) for name, value in figures.items()}


def measure_workers(folder: Path, students: int, each: int, phases: Sequence[str]) -> dict[str, Any]:
    """Compare one worker with several, for the phases that were asked for."""
    papers, figures = create_course(folder, students), {}
    with Served(folder, "--workers", "-1") as service:
        keys = service.accounts(sorted(papers))
        for name in phases:
            numbers, share = QUOTAS_BY_PHASE[name]
            figures[name] = (
                f"not measured: there is no {QUOTAS}"
                if share and not QUOTAS.is_dir()
                else compare_workers(service, papers, keys, numbers=numbers, each=each, share=share)
            )
    return figures


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    phases = ("exam", *QUOTAS_BY_PHASE)
    parser.add_argument("phases", nargs="*", metavar="PHASE", help=f"of {', '.join(phases)}; default: all")
    parser.add_argument("--students", type=int, default=1000, help="who sit the exam")
    parser.add_argument("--minutes", type=float, default=10, help="duration of the exam")
    parser.add_argument("--kills", type=int, default=0, help="during the exam")
    parser.add_argument(
        "--class", type=int, default=20, dest="papers", help="students whose work workers grade"
    )
    parser.add_argument("--each", type=int, default=4, help="submissions of each of them")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    chosen = options.phases or phases
    if unknown := set(chosen) - set(phases):
        parser.error(f"unknown phase: {', '.join(sorted(unknown))}")
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="autograder-bench-") as temporary:
        if "exam" in chosen:
            folder = Path(temporary) / "small"
            folder.mkdir()
            figures["exam"] = measure_exam(
                release_small_course(folder), options.students, options.minutes, options.kills
            )
            if not options.json:
                print(format_exam(figures["exam"]), flush=True)
        if compared := [name for name in phases[1:] if name in chosen]:
            folder = Path(temporary) / "course"
            figures |= measure_workers(folder, options.papers, options.each, compared)
            if not options.json:
                print("\n".join(f"{name}: {figures[name]}" for name in compared))
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
