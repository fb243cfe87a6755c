"""Number and duration of requests by route, counted by all web processes in memory that they share.

Whichever process answers a request for metrics thus knows those of all. Each process writes to a part of its
own, which its successor continues if it is killed; so the counters never decrease while the service runs.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import mmap
import os
import threading
from collections.abc import Iterable, Iterator, Sequence

from django.urls import URLPattern, URLResolver, get_resolver
from msgspec import Struct

BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the histogram's buckets in seconds; a last bucket has none."""
STATUSES = ("1xx", "2xx", "3xx", "4xx", "5xx")
UNMATCHED, OTHER = "unmatched", "other"
"""Labels of static files and addresses that do not exist, and of routes without a name."""
_SUM = len(BOUNDS) + 1
_FIRST_STATUS = _SUM + 1
_COLUMNS = _FIRST_STATUS + len(STATUSES)
_NUMBER_BYTES = 8


class SharedFile(Struct, frozen=True):
    """The part of one process in the shared memory."""

    descriptor: int
    """Of a file in memory."""
    process: int = 0
    """Number of this process, from 0."""
    processes: int = 1

    @classmethod
    def create(cls, processes: int) -> SharedFile:
        """Create a file for a number of processes; it goes with the last one that has it open."""
        return cls(os.memfd_create("autograder-metrics"), 0, processes)


class RequestMetrics:
    """Counts requests; all methods can be called by several threads.

    Args:
        shared: memory that is shared with other processes; None: this process is alone.
    """

    def __init__(self, shared: SharedFile | None = None) -> None:
        self._shared = shared or SharedFile(-1)
        self._lock = threading.Lock()

    def add_request(self, route: str, status: int, seconds: float) -> None:
        """Count a response.

        Args:
            route: name of its route; empty if there is none.
            status: HTTP status.
            seconds: from the request to the response's head.
        """
        with self._lock:
            row = self._rows.get(route or UNMATCHED, self._rows[OTHER])
            first = (self._shared.process * len(self._rows) + row) * _COLUMNS
            self._numbers[first + bisect.bisect_left(BOUNDS, seconds)] += 1
            self._numbers[first + _SUM] += seconds
            self._numbers[first + _FIRST_STATUS + min(max(status // 100, 1), len(STATUSES)) - 1] += 1

    def format_lines(self) -> list[str]:
        """Return the lines for Prometheus, of all processes together; routes without requests are omitted."""
        with self._lock:
            rows = {route: self._sum_processes(row) for route, row in self._rows.items()}
        used = {route: numbers for route, numbers in rows.items() if any(numbers)}
        name = "autograder_request_seconds"
        return [
            "# HELP autograder_requests_total Responses by route and class of status.",
            "# TYPE autograder_requests_total counter",
            *(
                f'autograder_requests_total{{route="{route}",status="{status}"}} {numbers[column]:.0f}'
                for route, numbers in used.items()
                for column, status in enumerate(STATUSES, _FIRST_STATUS)
                if numbers[column]
            ),
            f"# HELP {name} Seconds until the head of the response, by route.",
            f"# TYPE {name} histogram",
            *itertools.chain.from_iterable(
                _format_histogram(name, route, numbers) for route, numbers in used.items()
            ),
        ]

    def _sum_processes(self, row: int) -> list[float]:
        count = len(self._rows) * _COLUMNS
        starts = [process * count + row * _COLUMNS for process in range(self._shared.processes)]
        return [sum(self._numbers[start + column] for start in starts) for column in range(_COLUMNS)]

    @functools.cached_property
    def _rows(self) -> dict[str, int]:
        """Row by route, the same in every process."""
        names = dict.fromkeys([UNMATCHED, OTHER, *list_route_names(get_resolver().url_patterns)])
        return {name: row for row, name in enumerate(names)}

    @functools.cached_property
    def _numbers(self) -> memoryview[float]:
        size = self._shared.processes * len(self._rows) * _COLUMNS * _NUMBER_BYTES
        if self._shared.descriptor >= 0:
            os.ftruncate(self._shared.descriptor, size)
        return memoryview(mmap.mmap(self._shared.descriptor, size)).cast("d")


def list_route_names(patterns: Iterable[URLPattern | URLResolver], namespace: str = "") -> Iterator[str]:
    """Yield the names of all routes that have one, with their namespaces."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            inner = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
            yield from list_route_names(pattern.url_patterns, inner)
        elif pattern.name:
            yield f"{namespace}{pattern.name}"


def _format_histogram(name: str, route: str, numbers: Sequence[float]) -> Iterator[str]:
    label = f'route="{route}"'
    reached = list(itertools.accumulate(numbers[:_SUM]))
    for bound, count in zip((*BOUNDS, "+Inf"), reached, strict=True):
        yield f'{name}_bucket{{{label},le="{bound}"}} {count:.0f}'
    yield f"{name}_sum{{{label}}} {numbers[_SUM]:.6f}"
    yield f"{name}_count{{{label}}} {reached[-1]:.0f}"
