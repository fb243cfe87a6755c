"""Sends the next values of an iterator that a test goes through before they are requested. Runs in boxes.

This is limited to iterators with next values that can be seen without running any code: those of Python's own
containers, and the results of torch's own methods such as ``parameters()``, which are taken out at once when
a test begins to go through them. After each operation the student's box looks at them again, so the values
sent are those that an iterator would give now.
"""

from __future__ import annotations

import collections
import functools
import itertools
import operator
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from autograder.sandbox.inside import ahead

MOST_AHEAD = 256
"""Number of values of one iterator; longer ones are not sent in advance."""
MOST_OPEN = 16
"""Number of iterators that are examined after each operation."""
_OF_SEQUENCES: dict[type, Any] = {type(iter([])): list, type(iter(())): tuple}
_OF_DICTIONARIES: tuple[type, ...] = (type(iter({})), type(iter({}.values())), type(iter({}.items())))
_OF_MODULES = (
    *("parameters", "named_parameters", "buffers", "named_buffers"),
    *("children", "named_children", "modules", "named_modules"),
)


class _OpenIterator(NamedTuple):
    """An iterator with values that are sent in advance."""

    one: Iterator[Any]
    seen: Iterator[Any]
    """The iterator that shows the next values: itself, or the one it takes them from."""
    all_seen: bool
    """Whether nothing follows after these."""
    told: list[Any]


class OpenIterators:
    """The student's end."""

    def __init__(self) -> None:
        self._open: dict[str, _OpenIterator] = {}
        self._given_up: list[str] = []
        self._torchs: dict[int, Any] = {}
        self._new: set[str] = set()

    def note_result(self, function: Any, result: Any) -> Any:
        """Remember the result of a method if the method is torch's own and the result is an iterator."""
        is_method = type(result) is types.GeneratorType and type(function) is types.MethodType
        if is_method and function.__func__ in _list_torch_methods():
            self._torchs[id(result)] = result
        return result

    def prepare_iterator(
        self, iterator: Any, name_of: Callable[[Any], str], put: Callable[[Any, Any], None]
    ) -> Any:
        """Return the iterator that a test goes through from now on, instead of ``iterator``.

        Args:
            iterator: an iterator.
            name_of: returns its handle.
            put: replaces an object that has a handle by another one.
        """
        # Compared with the object itself, because its id may have been assigned again.
        if self._torchs.pop(id(iterator), None) is iterator:
            items, error = _take_values(iterator)
            seen, whole = iter(items), error is None and len(items) < MOST_AHEAD
            again = _resume_iterator(seen, error, iterator)
            put(iterator, again)
            self._track_iterator(name_of(again), _OpenIterator(again, seen, all_seen=whole, told=[]))
            return again
        kind = type(iterator)
        if (kind in _OF_SEQUENCES or kind in _OF_DICTIONARIES) and operator.length_hint(
            iterator
        ) <= MOST_AHEAD:
            self._track_iterator(name_of(iterator), _OpenIterator(iterator, iterator, all_seen=True, told=[]))
        return iterator

    def _track_iterator(self, name: str, entry: _OpenIterator) -> None:
        while len(self._open) >= MOST_OPEN:
            oldest = next(iter(self._open))
            del self._open[oldest]
            self._given_up.append(oldest)
        self._open[name] = entry
        self._new.add(name)

    def advance_iterators(self, taken: Mapping[str, int]) -> None:
        """Advance as far as the test has gone through the values that were sent."""
        for name, number in taken.items():
            if entry := self._open.get(name):
                for _ in range(number):
                    next(entry.one, None)
                del entry.told[:number]

    def collect_updates(self, mark: Callable[[Any], Any]) -> list[list[Any]]:
        """Return handle, next values and whether nothing follows, for iterators with other values now."""
        updates: list[list[Any]] = [[name, None, False] for name in self._given_up]
        self._given_up = []
        for name, entry in [*self._open.items()]:
            now = _peek_values(entry.seen)
            if now is None:
                del self._open[name]
                updates.append([name, None, False])
                continue
            if name in self._new or len(now) != len(entry.told) or any(map(operator.is_not, now, entry.told)):
                steady = [*itertools.takewhile(ahead.is_steady, now)]
                whole = entry.all_seen and len(steady) == len(now) < MOST_AHEAD
                updates.append([name, [mark(item) for item in steady], whole])
            entry.told[:] = now
        self._new.clear()
        return updates

    def give_up(self) -> list[list[Any]]:
        """Send no more values of the open iterators in advance."""
        self._given_up += self._open
        self._open.clear()
        return self.collect_updates(lambda value: value)

    def clear(self) -> None:
        """Forget all of them."""
        self.__init__()  # type: ignore[misc]


class PrefetchedValues:
    """The test's end."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[collections.deque[Any], bool]] = {}
        self._taken: collections.Counter[str] = collections.Counter()

    def apply_updates(self, news: list[list[Any]]) -> None:
        """Record the values that the student's box sends."""
        for name, values, whole in news:
            self._values.pop(name, None)
            if values is not None:
                self._values[name] = collections.deque(values), whole is True

    def take_next(self, name: str, ask: Callable[[], Any], count: Callable[[Any], None]) -> Any:
        """Return the next value of the iterator with this handle; request it if it was not sent in advance.

        Raises:
            StopIteration: there is none.
        """
        values, whole = self._values.get(name, ((), False))
        if values:
            self._taken[name] += 1
            count(value := values.popleft())
            return value
        if whole:
            self._taken[name] += 1
            raise StopIteration
        return ask()

    def collect_taken(self) -> dict[str, int]:
        """Return how far each was gone through since the last call."""
        taken, self._taken = self._taken, collections.Counter()
        return dict(taken)


@functools.cache
def _list_torch_methods() -> frozenset[Any]:
    torch = sys.modules.get("torch")
    return frozenset(getattr(torch.nn.Module, name) for name in _OF_MODULES) if torch else frozenset()


def _take_values(iterator: Iterator[Any]) -> tuple[list[Any], BaseException | None]:
    """Return the first values, and the exception of the next one: a class may have own methods."""
    items: list[Any] = []
    try:
        items.extend(itertools.islice(iterator, MOST_AHEAD))
    except Exception as error:  # noqa: BLE001 - raised again when the test reaches it
        return items, error
    return items, None


def _resume_iterator(
    items: Iterator[Any], error: BaseException | None, remaining: Iterator[Any]
) -> Iterator[Any]:
    yield from items
    if error is not None:
        raise error
    yield from remaining


def _peek_values(iterator: Any) -> list[Any] | None:
    """Return the next values of one of Python's own iterators, without moving it; None if it would raise."""
    try:
        # `__reduce__` gives a sequence and the position in it, or the remaining items of a dictionary.
        _, (held,), *position = iterator.__reduce__()
    except RuntimeError:  # the dictionary has changed its size
        return None
    begin = position[0] if position else 0
    return [*_OF_SEQUENCES.get(type(iterator), list).__getitem__(held, slice(begin, begin + MOST_AHEAD))]
