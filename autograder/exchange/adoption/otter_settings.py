"""otter's settings that change the code that runs: seeds, and plugins, which are not run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from autograder.core.errors import CourseError

_PLUGINS = {
    "RateLimiting": "how often somebody hands in is for the platform to say",
    "GmailNotifications": "no mail is sent; autograder feedback makes pages",
    "GoogleSheetsGradeOverride": "people give marks in formgrader, or by autograder mark import",
}
"""Why the plugins included in otter are not needed."""
_OTHER = "a plugin is a program that changes what was handed in, or its marks; none is run"
_BEGIN = re.compile(r".*# BEGIN PLUGIN(?: (EXPORT))?\s*$")
_END = re.compile(r".*# END PLUGIN\s*$")


def read_yaml(text: str, label: str) -> dict[str, Any]:
    """Parse a table of settings; an empty text is an empty table.

    Raises:
        CourseError: it is not YAML, or not a table.
    """
    try:
        # safe_load builds no Python objects; deep nesting ends in a RecursionError.
        table = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CourseError(f"{label}: not YAML that can be read: {str(error)[:200]}") from error
    if table is None:
        return {}
    if not isinstance(table, dict):
        raise CourseError(f"{label}: expected a table of settings, got {type(table).__name__}")
    return table


def format_cell_start(settings: Mapping[str, Any]) -> str:
    """Return the line that otter runs at the start of each cell during grading; empty if there is none."""
    graded, seeds = _get_table(settings, "generate"), _get_table(settings, "seed")
    variable = seeds.get("variable") or graded.get("seed_variable")
    seed = seeds.get("autograder_value") if seeds.get("variable") else graded.get("seed")
    # The values end up in code, so only integers and identifiers are accepted. bool is a subclass of int.
    if not isinstance(seed, int) or isinstance(seed, bool):
        return ""
    if variable is None:
        return f"__import__('numpy').random.seed({seed}); __import__('random').seed({seed})"
    return f"{variable} = {seed}" if str(variable).isidentifier() else ""


def set_student_seed(source: str, settings: Mapping[str, Any]) -> str:
    """Return a cell as students get it: the seed variable has the students' value."""
    seeds = _get_table(settings, "seed")
    variable, value = seeds.get("variable"), seeds.get("student_value")
    if not variable or not isinstance(value, int):
        return source
    # ``=(?!=)`` excludes comparisons.
    assigned = re.compile(rf"^([ \t]*){re.escape(str(variable))}[ \t]*=(?!=).*$", re.MULTILINE)
    return assigned.sub(rf"\g<1>{variable} = {value}", source)


def list_remarks(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings that are not adopted, with the reason."""
    seeds = _get_table(settings, "seed")
    if settings.get("seed") and not format_cell_start(settings):
        got = f"variable {seeds.get('variable')!r}, autograder_value {seeds.get('autograder_value')!r}"
        yield f"seed: not taken over: expected a name and a whole number, got {got}"
    plugins = [*_get_list(settings, "plugins"), *_get_list(_get_table(settings, "generate"), "plugins")]
    for plugin in dict.fromkeys(
        str(next(iter(entry), "")) if isinstance(entry, dict) else str(entry) for entry in plugins
    ):
        yield f"plugins: {plugin}: not run: {_PLUGINS.get(plugin.rpartition('.')[2], _OTHER)}"


def replace_plugins(source: str, label: str) -> str:
    """Replace plugin blocks in a cell by the calls that otter generates; during grading they have no effect.

    Raises:
        CourseError: a block is not YAML.
    """
    kept: list[str] = []
    block: list[str] | None = None
    call = ""
    for line in source.split("\n"):
        if block is None and (begin_match := _BEGIN.match(line)):
            block, call = [], "add_plugin_files" if begin_match.group(1) else "run_plugin"
        elif block is not None and _END.match(line):
            table = read_yaml("\n".join(block), label)
            words = [f'"{table.get("plugin", "")}"', *map(str, table.get("args") or ())]
            words += [f"{key}={value}" for key, value in (table.get("kwargs") or {}).items()]
            kept.append(f"grader.{call}({', '.join(words)})")
            block = None
        elif block is not None:
            block.append(line)
        else:
            kept.append(line)
    return "\n".join([*kept, *(block or ())])


def _get_table(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = settings.get(name)
    return value if isinstance(value, dict) else {}


def _get_list(settings: Mapping[str, Any], name: str) -> list[Any]:
    value = settings.get(name)
    return value if isinstance(value, list) else []
