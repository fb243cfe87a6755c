"""nbgrader's tables: which revision is the newest is read from its migrations."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from autograder.errors import GradebookError
from autograder.gradebook.nbgrader_api import api
from autograder.gradebook.tables import newest_revision

MIGRATIONS = Path(api.__file__).parent / "alembic"


def test_the_newest_revision_is_alembics_head() -> None:
    """Read from the files, it is the one that alembic finds."""
    assert ScriptDirectory(str(MIGRATIONS)).get_current_head() == newest_revision(MIGRATIONS / "versions")


def test_other_ways_of_writing_a_revision_are_read(tmp_path: Path) -> None:
    """Newer templates of alembic state types, and the newest of several need not be the last by name."""
    (tmp_path / "a.py").write_text(
        "revision: str = 'b2'\ndown_revision: Union[str, None] = \"a1\"\n", "utf-8"
    )
    (tmp_path / "b.py").write_text("revision = 'a1'\ndown_revision = None\n", "utf-8")
    assert "b2" == newest_revision(tmp_path)


@pytest.mark.parametrize(("names", "told"), [([], "found none"), (["a1", "b2"], "found a1, b2")])
def test_without_one_newest_revision_nothing_is_opened(tmp_path: Path, names: list[str], told: str) -> None:
    """No migration, or two that nothing follows, is told with the folder."""
    for name in names:
        (tmp_path / f"{name}.py").write_text(f"revision = '{name}'\ndown_revision = None\n", "utf-8")
    with pytest.raises(GradebookError, match=told):
        newest_revision(tmp_path)
