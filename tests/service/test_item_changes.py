"""Other items in the text of a rubric: the sums follow, it stays valid, and no other line changes."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder import rubric as rubrics

RUBRICS = [path for path in sorted(Path("rubrics").glob("*.toml")) if 'kind = "written"' in path.read_text()]
LANGUAGES = ("en", "de")
NEW = {"en": 'Quotes " and \\', "de": "Zwei\nZeilen ü"}


@pytest.mark.parametrize("path", RUBRICS, ids=lambda path: path.stem)
def test_written_questions_of_shipped_rubrics_can_be_edited(path: Path, service_database: object) -> None:
    """The first item gets other points, text and guide, the last one goes, and one is added."""
    from autograder.service import item_changes

    data = path.read_bytes()
    rubric, reference = rubrics.load_rubric(path), Path("reference")
    written = [question for question in rubric.questions if question.kind == "written"]
    # Each edit reads the whole file, and questions in the middle are no other case.
    for question in {question.id: question for question in (*written[:1], *written[-1:])}.values():
        items = item_changes.list_editable_items(data, question.id, LANGUAGES)
        assert data == item_changes.edit_items(data, question.id, items, LANGUAGES)
        first = replace(items[0], points=items[0].points + Decimal("0.25"), text=NEW, guide=NEW)
        added = item_changes.EditedItem("", Decimal("1.5"), NEW, {})
        kept = [first, *items[1:-1]] if len(items) > 1 else [first]
        changed = item_changes.edit_items(data, question.id, [*kept, added], LANGUAGES)
        edited = rubrics.parse_rubric(changed, "rubric", reference).get_question(question.id)
        assert [*(item.id for item in kept), "item-1"] == [item.id for item in edited.items]
        assert (NEW, NEW) == (edited.items[0].text, edited.items[0].options["guide"])
        assert (Decimal("1.5"), NEW, True) == (
            edited.items[-1].points,
            edited.items[-1].text,
            edited.items[-1].manual,
        )
