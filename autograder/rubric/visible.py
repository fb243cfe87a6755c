"""What a question lets its students check themselves: calls that are printed to them, as data."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from autograder.errors import RubricError


class ConstructorArguments(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The arguments of a class."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}


class Visible(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A check that students run themselves: everything in it is shown to them, and nothing of it is graded.

    Without ``type``, ``shape`` and ``value`` nothing is called.
    """

    parameters: tuple[str, ...] = ()
    """What the function takes, by name and in order; further ones need defaults."""
    construct: ConstructorArguments | None = None
    """Makes the answer a class, constructed with these."""
    method: str = ""
    """Called instead of the object itself."""
    args: tuple[Any, ...] = ()
    """Plain values, and arrays: ``{ array = [[1.0, 2.0]], dtype = "float64" }``."""
    kwargs: dict[str, Any] = {}
    type: str | None = None
    """The class of the result, or one above it, by its name alone."""
    shape: tuple[int, ...] | None = None
    value: Any = None
    """The result, compared with a tolerance that float32 meets."""

    def check(self, place: str) -> None:
        """Refuse what checks nothing, and arguments that are drawn.

        Raises:
            RubricError: names the place.
        """
        if not self.parameters and self.type is None and self.shape is None and self.value is None:
            raise RubricError("nothing is checked; state parameters, type, shape or value", place)
        made = self.construct or ConstructorArguments()
        for one in (*self.args, *self.kwargs.values(), *made.args, *made.kwargs.values()):
            if isinstance(one, dict) and ("array" not in one or set(one) - {"array", "dtype"}):
                raise RubricError(
                    f"{one!r}: expected a plain value or {{ array = […], dtype = … }}; "
                    "nothing that students see is drawn",
                    place,
                )
