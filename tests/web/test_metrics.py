"""Prometheus metrics: all processes are counted, labels are bounded, and nothing is personal."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.urls import get_resolver
from django.utils import timezone

from autograder.web.request_metrics import (
    BOUNDS,
    OTHER,
    UNMATCHED,
    RequestMetrics,
    SharedFile,
    list_route_names,
)
from tests.service import course
from tests.web.people import Small

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="[^"\\\n]*",?)+)\})? (\d+(?:\.\d+)?)')
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def parse_metrics(text: str) -> Samples:
    """Return the values by name and labels, and check that every line is valid."""
    samples: Samples = {}
    types: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert types.setdefault(name, kind) == kind
        elif not line.startswith("# HELP "):
            match = SAMPLE.fullmatch(line)
            assert match, line
            family = re.sub(r"_(?:bucket|sum|count)$", "", match[1])
            assert match[1] in types or types.get(family) == "histogram", line
            key = (match[1], tuple(re.findall(r'([a-z]+)="([^"]*)"', match[2] or "")))
            assert key not in samples, line
            samples[key] = float(match[3])
    return samples


def count(samples: Samples, route: str, status: str = "2xx") -> float:
    """Return the number of responses of a route."""
    return samples.get(("autograder_requests_total", (("route", route), ("status", status))), 0.0)


def read_metrics(at: Small) -> Samples:
    """Return the metrics that the service serves."""
    answer = at.client("nobody").get("/metrics")
    assert (200, "text/plain; version=0.0.4") == (answer.status_code, answer.headers["Content-Type"])
    return parse_metrics(answer.content.decode())


def test_requests_are_counted_by_route_and_status(at: Small) -> None:
    """Requests are counted by route and status, and never by address."""
    before = read_metrics(at)
    at.client().get(f"{at.base}a/small/")
    at.client("nobody").get(f"{at.base}a/small/")
    for number in range(3):
        at.client("nobody").get(f"/none-{number}/")
    after = read_metrics(at)
    increases = [
        count(after, *series) - count(before, *series)
        for series in (("assignment", "2xx"), ("assignment", "3xx"), (UNMATCHED, "4xx"))
    ]
    assert [1, 1, 3] == increases
    assert not [key for key in after if "none-" in str(key) or at.record.slug in str(key)]
    routes = {UNMATCHED, OTHER, *list_route_names(get_resolver().url_patterns)}
    assert {dict(labels)["route"] for _, labels in after if "route" in dict(labels)} <= routes


def test_a_histogram_counts_every_request_once(at: Small) -> None:
    """Buckets are cumulative, and the last one equals the number of responses."""
    at.client().get(f"{at.base}a/small/")
    samples = read_metrics(at)
    name = "autograder_request_seconds"
    buckets = [
        samples[f"{name}_bucket", (("route", "assignment"), ("le", str(bound)))]
        for bound in (*BOUNDS, "+Inf")
    ]
    assert sorted(buckets) == buckets
    total = sum(
        value
        for (sample, labels), value in samples.items()
        if sample == "autograder_requests_total" and ("route", "assignment") in labels
    )
    assert buckets[-1] == samples[f"{name}_count", (("route", "assignment"),)] == total > 0
    assert samples[f"{name}_sum", (("route", "assignment"),)] > 0


def test_the_queue_and_the_workers_are_counted(at: Small) -> None:
    """Metrics show attempts by state, the age of the oldest waiting one, and active workers."""
    from autograder.service import tasks

    before = read_metrics(at)
    attempt = course.handed_in(at.offer, "ada", course.released(at.folder))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE service_attempt SET queued_at = now() - interval '1 day' WHERE id = %s", [attempt.pk]
        )
        cursor.execute("DELETE FROM procrastinate_workers")
        for age in ("0 s", "5 s", "20 s", "0 s", "10 min"):  # the last one was killed
            cursor.execute(
                "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - %s::interval)", [age]
            )
    after = read_metrics(at)
    waiting = ("autograder_attempts", (("state", "waiting"),))
    assert 1 == after[waiting] - before[waiting]
    assert 86_400 <= after["autograder_oldest_waiting_seconds", ()]
    assert 2 == after["autograder_workers", ()]  # one with three queue readers, and one that starts
    assert 3 == tasks.QUEUE_READERS


def test_an_attempt_of_a_dead_worker_waits(at: Small) -> None:
    """After its lease, the attempt counts as waiting, with its age."""
    from autograder.service import attempts

    before = read_metrics(at)
    attempt = course.handed_in(at.offer, "ada", course.released(at.folder))
    assert attempts.claim_attempt(attempt.pk)
    running = read_metrics(at)
    type(attempt).objects.filter(pk=attempt.pk).update(
        leased_until=timezone.now() - timedelta(seconds=1), queued_at=timezone.now() - timedelta(days=2)
    )
    after = read_metrics(at)
    waits, runs = (("autograder_attempts", (("state", state),)) for state in ("waiting", "running"))
    assert (0, 1) == (running[waits] - before[waits], running[runs] - before[runs])
    assert (1, 0) == (after[waits] - before[waits], after[runs] - before[runs])
    assert 2 * 86_400 <= after["autograder_oldest_waiting_seconds", ()]


def test_processes_count_together_and_a_successor_goes_on(at: Small) -> None:
    """Each process shows the sum, and the successor of a killed process continues its counts."""
    del at
    shared = SharedFile.create(2)
    first = RequestMetrics(shared)
    other = RequestMetrics(SharedFile(shared.descriptor, 1, 2))
    first.add_request("assignment", 200, 0.02)
    other.add_request("assignment", 200, 99.0)
    other.add_request("made-up", 503, 0.01)
    successor = RequestMetrics(SharedFile(shared.descriptor, 1, 2))
    successor.add_request("assignment", 200, 0.02)
    for metrics in (first, other, successor):
        samples = parse_metrics("\n".join(metrics.format_lines()))
        assert (3, 1) == (count(samples, "assignment"), count(samples, OTHER, "5xx"))
        below, within = (
            samples["autograder_request_seconds_bucket", (("route", "assignment"), ("le", bound))]
            for bound in ("0.01", "0.025")
        )
        assert (0, 2) == (below, within)
        assert 99.04 == pytest.approx(samples["autograder_request_seconds_sum", (("route", "assignment"),)])
