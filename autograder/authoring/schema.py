"""The JSON Schema of rubrics, generated for editors from the records that read rubrics.

An editor that knows the schema completes keys, shows their meaning and underlines typos. The schema describes
only the shape of a rubric: sums of points and references between names are checked when the rubric is read.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from autograder.checks.judging.manual import ManualItem
from autograder.kinds import kinds
from autograder.rubric import AssignmentSettings, Item, Question
from autograder.rubric.check_files import KINDS as CHECKED_KINDS
from autograder.rubric.scales import NAMED, Grading, Scale, Step, Threshold
from autograder.variants.options import Choices, Computed, Integers, Planted

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = "#/$defs/{name}"
_PLACEHOLDER: Schema = {
    "type": "string",
    "pattern": "⟦.+⟧",
    "description": "What is drawn for each student; see [variant].",
}
_DRAWN = (Integers, Choices, Computed, Planted)
_MADE = (Scale, Step)
"""Records that are computed from a table when the rubric is read, and are never written themselves."""


def schema() -> Schema:
    """Return the whole schema."""
    found = {name: (kind.check.question_type, kind.check.item_type) for name, kind in kinds().items()}
    pairs = [record for pair in found.values() for record in pair]
    common = (AssignmentSettings, Grading, Threshold, Question, Item, ManualItem)
    records: list[type[Struct]] = list(dict.fromkeys((*common, *_MADE, *_DRAWN, *pairs)))
    schemas, components = msgspec.json.schema_components(records, ref_template=_REFERENCE)
    named = {record: one["$ref"].rpartition("/")[2] for record, one in zip(records, schemas, strict=True)}
    texts = _texts(records)
    definitions = {name: _told(_plain(one), texts.get(name, {})) for name, one in components.items()}
    own = {record: definitions.pop(named[record]) for record in records if record not in _DRAWN}
    definitions["Assignment"] = _assignment(own[AssignmentSettings], own[Grading], own[Threshold])
    for name, (question, item) in found.items():
        items = _items(name, own[Item], own[item], own[ManualItem])
        definitions[f"question-{name}"] = _question(name, own[Question], own[question], items)
    definitions["placeholder"] = _PLACEHOLDER
    return {
        "$schema": DIALECT,
        "title": "Rubric of an assignment",
        "type": "object",
        "properties": {
            "version": {"type": "integer", "minimum": 1, "description": "Raised when marks may change."},
            "assignment": {"$ref": _REFERENCE.format(name="Assignment")},
            "variant": _variant([named[record] for record in _DRAWN]),
            "question": {
                "type": "array",
                "items": {"oneOf": [{"$ref": _REFERENCE.format(name=f"question-{name}")} for name in found]},
            },
        },
        "required": ["version", "assignment"],
        "additionalProperties": False,
        "$defs": definitions,
    }


def _assignment(assignment: Schema, grading: Schema, threshold: Schema) -> Schema:
    """Return the table of the assignment, with its table of grades as authors write it."""
    either = [{"enum": [*NAMED]}, {"type": "array", "items": threshold}]
    scale = {**grading["properties"]["scale"], "anyOf": either}
    written = {**grading, "properties": {**grading["properties"], "scale": scale}}
    return {
        **assignment,
        "properties": {**assignment["properties"], "grading": written},
        "additionalProperties": False,
    }


def _question(name: str, common: Schema, options: Schema, items: Sequence[Schema]) -> Schema:
    """Return the schema of a question of one kind: the common keys and those of the kind."""
    made = _joined(common, options, str(options.get("description", "")))
    made["properties"]["kind"] = {"const": name}
    made["properties"]["item"] = {"type": "array", "minItems": 1, "items": {"anyOf": items}}
    if name not in CHECKED_KINDS:
        made["required"] = [*made["required"], "item"]
    return made


def _items(name: str, common: Schema, options: Schema, manual_options: Schema) -> list[Schema]:
    """Return the items that a question of one kind may have: automatic and manually graded ones."""
    automatic = _joined(common, options, f"An item of a {name!r} question.")
    automatic["properties"]["manual"] = {"const": False}
    if name in CHECKED_KINDS:  # the other keys are in the file of checks
        automatic["required"] = ["id"]
    # An item may keep the keys of an automatic item when an author changes it to manual grading.
    both = {"properties": {**options["properties"], **manual_options["properties"]}}
    manual = _joined(common, both, "An item that a person decides on.")
    manual["properties"]["manual"] = {"const": True}
    manual["required"] = [*manual["required"], "manual"]
    return [manual] if options is manual_options else [automatic, manual]


def _joined(common: Schema, options: Schema, description: str) -> Schema:
    properties = {**common["properties"], **options["properties"]}
    # These two fields hold parsed keys of the same table; authors never write them.
    for read_apart in ("options", "items"):
        properties.pop(read_apart, None)
    required = {*common.get("required", ()), *options.get("required", ())} & set(properties)
    return {
        "type": "object",
        "description": description,
        "properties": {name: _or_drawn(one) for name, one in properties.items()},
        "required": sorted(required),
        "additionalProperties": False,
    }


def _variant(drawn: Iterable[str]) -> Schema:
    references = [{"$ref": _REFERENCE.format(name=name)} for name in drawn]
    return {
        "type": "object",
        "description": "What is drawn for each student.",
        "properties": {
            "draw": {"type": "object", "additionalProperties": {"anyOf": references}},
            "where": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["draw"],
        "additionalProperties": False,
    }


def _plain(one: Any) -> Any:
    """Return a schema with Decimals as numbers, as in TOML, and with descriptions on one line."""
    if isinstance(one, list):
        return [_plain(part) for part in one]
    if not isinstance(one, dict):
        return one
    if "description" in one and isinstance(one["description"], str):
        one = {**one, "description": " ".join(one["description"].split())}
    if one.get("format") == "decimal":
        default = {"default": float(one["default"])} if isinstance(one.get("default"), str) else {}
        return {"type": "number", **default}
    return {key: _plain(part) for key, part in one.items()}


def _or_drawn(one: Any) -> Any:
    """Allow a placeholder in place of every number, because variants may draw numbers per student."""
    if isinstance(one, list):
        return [_or_drawn(part) for part in one]
    if not isinstance(one, dict):
        return one
    if one.get("type") in ("integer", "number"):
        told = {"description": one["description"]} if "description" in one else {}
        return {**told, "anyOf": [one, {"$ref": _REFERENCE.format(name="placeholder")}]}
    return {key: _or_drawn(part) for key, part in one.items()}


def _told(definition: Schema, texts: Mapping[str, str]) -> Schema:
    """Add the descriptions of its keys to a record's schema."""
    properties = {
        name: {**one, "description": texts[name]} if name in texts else one
        for name, one in definition.get("properties", {}).items()
    }
    return {**definition, "properties": properties} if properties else definition


def _texts(records: Iterable[type[Struct]]) -> dict[str, dict[str, str]]:
    """Collect the docstrings below the fields, by each name of the record in the schema, and by key."""
    texts: dict[str, dict[str, str]] = {}
    for record in reachable(msgspec.inspect.multi_type_info(records)):
        written: dict[str, str] = {}
        # From base class to subclass, so that a subclass can replace a description.
        for one in reversed(record.__mro__):
            if issubclass(one, Struct) and one is not Struct:
                written |= _texts_of(one)
        keys = {field.name: field.encode_name for field in msgspec.structs.fields(record)}
        told = {keys[name]: text for name, text in written.items() if name in keys}
        # msgspec uses the short name, or the qualified one if two records share their short name.
        texts[record.__name__] = texts[f"{record.__module__}.{record.__qualname__}"] = told
    return texts


def reachable(types: Iterable[Any]) -> list[type[Struct]]:
    """Return every record that occurs in the given types, at any depth."""
    found: list[type[Struct]] = []
    waiting = list(types)
    while waiting:
        one = waiting.pop()
        if isinstance(one, msgspec.inspect.StructType):
            if one.cls in found:
                continue
            found.append(one.cls)
        if isinstance(one, msgspec.inspect.Type | msgspec.inspect.Field):
            waiting += [getattr(one, name) for name in one.__struct_fields__]
        elif isinstance(one, tuple | list):
            waiting += one
    return found


def _texts_of(record: type) -> dict[str, str]:
    """Return the docstrings below the fields in the source of one class."""
    # Docstrings below fields are not kept at run time, so they are read from the source.
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(record))).body
    body = node.body if isinstance(node, ast.ClassDef) else []
    return {
        field.target.id: " ".join(below.value.value.split())
        for field, below in itertools.pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(below.value.value, str)
    }


def main() -> None:
    """Print the schema: ``python -m autograder.authoring.schema``."""
    sys.stdout.write(json.dumps(schema(), ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
