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

from autograder.questions import load_kinds
from autograder.questions.base.judging.manual import ManualItem
from autograder.rubric import AssignmentSettings, Item, Question
from autograder.rubric.check_files import KINDS as CHECKED_KINDS
from autograder.rubric.scales import NAMED, Grading, Scale, Step, Threshold
from autograder.rubric.variants.options import Choices, ComputedValue, Integers, PlantedFaults

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = "#/$defs/{name}"
_PLACEHOLDER: Schema = {
    "type": "string",
    "pattern": "⟦.+⟧",
    "description": "What is drawn for each student; see [variant].",
}
_DRAWN = (Integers, Choices, ComputedValue, PlantedFaults)
_MADE = (Scale, Step)
"""Records that are computed from a table when the rubric is read, and are never written themselves."""


def build_schema() -> Schema:
    """Return the whole schema."""
    types_by_kind = {
        name: (kind.check.question_type, kind.check.item_type) for name, kind in load_kinds().items()
    }
    pairs = [record for pair in types_by_kind.values() for record in pair]
    common = (AssignmentSettings, Grading, Threshold, Question, Item, ManualItem)
    records: list[type[Struct]] = list(dict.fromkeys((*common, *_MADE, *_DRAWN, *pairs)))
    schemas, components = msgspec.json.schema_components(records, ref_template=_REFERENCE)
    named = {record: part["$ref"].rpartition("/")[2] for record, part in zip(records, schemas, strict=True)}
    texts = _collect_descriptions(records)
    definitions = {
        name: _add_descriptions(_normalise_schema(part), texts.get(name, {}))
        for name, part in components.items()
    }
    record_schemas = {record: definitions.pop(named[record]) for record in records if record not in _DRAWN}
    definitions["Assignment"] = _build_assignment(
        record_schemas[AssignmentSettings], record_schemas[Grading], record_schemas[Threshold]
    )
    for name, (question, item) in types_by_kind.items():
        items = _list_item_schemas(
            name, record_schemas[Item], record_schemas[item], record_schemas[ManualItem]
        )
        definitions[f"question-{name}"] = _build_question(
            name, record_schemas[Question], record_schemas[question], items
        )
    definitions["placeholder"] = _PLACEHOLDER
    return {
        "$schema": DIALECT,
        "title": "Rubric of an assignment",
        "type": "object",
        "properties": {
            "version": {"type": "integer", "minimum": 1, "description": "Raised when marks may change."},
            "assignment": {"$ref": _REFERENCE.format(name="Assignment")},
            "variant": _build_variant([named[record] for record in _DRAWN]),
            "question": {
                "type": "array",
                "items": {
                    "oneOf": [{"$ref": _REFERENCE.format(name=f"question-{name}")} for name in types_by_kind]
                },
            },
        },
        "required": ["version", "assignment"],
        "additionalProperties": False,
        "$defs": definitions,
    }


def _build_assignment(assignment: Schema, grading: Schema, threshold: Schema) -> Schema:
    """Return the table of the assignment, with its table of grades as authors write it."""
    either = [{"enum": [*NAMED]}, {"type": "array", "items": threshold}]
    scale = {**grading["properties"]["scale"], "anyOf": either}
    written = {**grading, "properties": {**grading["properties"], "scale": scale}}
    return {
        **assignment,
        "properties": {**assignment["properties"], "grading": written},
        "additionalProperties": False,
    }


def _build_question(name: str, common: Schema, options: Schema, items: Sequence[Schema]) -> Schema:
    """Return the schema of a question of one kind: the common keys and those of the kind."""
    question_schema = _join_schemas(common, options, str(options.get("description", "")))
    question_schema["properties"]["kind"] = {"const": name}
    question_schema["properties"]["item"] = {"type": "array", "minItems": 1, "items": {"anyOf": items}}
    if name not in CHECKED_KINDS:
        question_schema["required"] = [*question_schema["required"], "item"]
    return question_schema


def _list_item_schemas(name: str, common: Schema, options: Schema, manual_options: Schema) -> list[Schema]:
    """Return the items that a question of one kind may have: automatic and manually graded ones."""
    automatic = _join_schemas(common, options, f"An item of a {name!r} question.")
    automatic["properties"]["manual"] = {"const": False}
    if name in CHECKED_KINDS:  # the other keys are in the file of checks
        automatic["required"] = ["id"]
    # An item may keep the keys of an automatic item when an author changes it to manual grading.
    both = {"properties": {**options["properties"], **manual_options["properties"]}}
    manual = _join_schemas(common, both, "An item that a person decides on.")
    manual["properties"]["manual"] = {"const": True}
    manual["required"] = [*manual["required"], "manual"]
    return [manual] if options is manual_options else [automatic, manual]


def _join_schemas(common: Schema, options: Schema, description: str) -> Schema:
    properties = {**common["properties"], **options["properties"]}
    # These two fields hold parsed keys of the same table; authors never write them.
    for read_apart in ("options", "items"):
        properties.pop(read_apart, None)
    required = {*common.get("required", ()), *options.get("required", ())} & set(properties)
    return {
        "type": "object",
        "description": description,
        "properties": {name: _allow_placeholders(value) for name, value in properties.items()},
        "required": sorted(required),
        "additionalProperties": False,
    }


def _build_variant(drawn: Iterable[str]) -> Schema:
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


def _normalise_schema(value: Any) -> Any:
    """Return a schema with Decimals as numbers, as in TOML, and with descriptions on one line."""
    if isinstance(value, list):
        return [_normalise_schema(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "description" in value and isinstance(value["description"], str):
        value = {**value, "description": " ".join(value["description"].split())}
    if value.get("format") == "decimal":
        default = {"default": float(value["default"])} if isinstance(value.get("default"), str) else {}
        return {"type": "number", **default}
    return {key: _normalise_schema(part) for key, part in value.items()}


def _allow_placeholders(value: Any) -> Any:
    """Allow a placeholder in place of every number, because variants may draw numbers per student."""
    if isinstance(value, list):
        return [_allow_placeholders(part) for part in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") in ("integer", "number"):
        description = {"description": value["description"]} if "description" in value else {}
        return {**description, "anyOf": [value, {"$ref": _REFERENCE.format(name="placeholder")}]}
    return {key: _allow_placeholders(part) for key, part in value.items()}


def _add_descriptions(definition: Schema, texts: Mapping[str, str]) -> Schema:
    """Add the descriptions of its keys to a record's schema."""
    properties = {
        name: {**value, "description": texts[name]} if name in texts else value
        for name, value in definition.get("properties", {}).items()
    }
    return {**definition, "properties": properties} if properties else definition


def _collect_descriptions(records: Iterable[type[Struct]]) -> dict[str, dict[str, str]]:
    """Collect the docstrings below the fields, by each name of the record in the schema, and by key."""
    texts: dict[str, dict[str, str]] = {}
    for record in find_records(msgspec.inspect.multi_type_info(records)):
        written: dict[str, str] = {}
        # From base class to subclass, so that a subclass can replace a description.
        for base in reversed(record.__mro__):
            if issubclass(base, Struct) and base is not Struct:
                written |= _read_field_docstrings(base)
        keys = {field.name: field.encode_name for field in msgspec.structs.fields(record)}
        descriptions = {keys[name]: text for name, text in written.items() if name in keys}
        # msgspec uses the short name, or the qualified one if two records share their short name.
        texts[record.__name__] = texts[f"{record.__module__}.{record.__qualname__}"] = descriptions
    return texts


def find_records(types: Iterable[Any]) -> list[type[Struct]]:
    """Return every record that occurs in the given types, at any depth."""
    records: list[type[Struct]] = []
    waiting = list(types)
    while waiting:
        item = waiting.pop()
        if isinstance(item, msgspec.inspect.StructType):
            if item.cls in records:
                continue
            records.append(item.cls)
        if isinstance(item, msgspec.inspect.Type | msgspec.inspect.Field):
            waiting += [getattr(item, name) for name in item.__struct_fields__]
        elif isinstance(item, tuple | list):
            waiting += item
    return records


def _read_field_docstrings(record: type) -> dict[str, str]:
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


def print_schema() -> None:
    """Print the schema: ``python -m autograder.authoring.schema``."""
    sys.stdout.write(json.dumps(build_schema(), ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    print_schema()
