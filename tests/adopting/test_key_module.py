"""What an answer key defines is taken over with what it needs, and with nothing else."""

from __future__ import annotations

from autograder.adopting.key_module import HEAD, defined, key_module

CELLS = (
    "%matplotlib inline\nimport math\nimport random\nscale = 2",
    "def helper(x):\n    return x * scale\n\ndef unused():\n    return random.random()",
    "x = = 1",
    "def area(r):\n    return math.pi * helper(r) ** 2\nprint(area(3))",
    "table = {}\ntable['one'] = helper(1)\ntable.update(two=2)\nother = 3",
)


def test_names_are_followed_in_the_notebooks_order() -> None:
    """Imports, helpers and constants come along; what prints, plots or is not needed does not."""
    text = key_module(CELLS, ["area"])
    assert text.startswith(HEAD)
    values: dict[str, object] = {}
    exec(text, values)
    assert {"math", "scale", "helper", "area"} <= {*values}
    assert not {"unused", "random", "table", "other"} & {*values}
    assert "print" not in text


def test_a_variable_has_a_function_that_gives_its_value() -> None:
    """What changes it later counts as well."""
    values: dict[str, object] = {}
    exec(key_module(CELLS, ["key_table"]), values)
    assert values["key_table"]() == {"one": 2, "two": 2}  # type: ignore[operator]


def test_what_a_cell_defines() -> None:
    """Functions, and all names that it binds."""
    assert defined(CELLS[1]) == ({"helper", "unused"}, {"helper", "unused"})
    assert defined(CELLS[4]) == (set(), {"table", "other"})
