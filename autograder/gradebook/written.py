"""What was written of each student last, so that a run over the same submissions need not write it again.

Marks that something else writes over are found by `autograder.gradebook.marks.overwritten`; comments and the
copies below ``autograded/`` are held against their sizes here.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import asdict, astuple, replace

from autograder.gradebook import tables
from autograder.store import GradedEntry, encode

_WRITTEN = sa.Table(
    "autograder_written",
    tables.RECORDED.metadata,
    sa.Column("assignment", sa.String(128), primary_key=True),
    sa.Column("student", sa.String(128), primary_key=True),
    sa.Column("signature", sa.String(64), nullable=False),
    sa.Column("characters", sa.Integer, nullable=False),
    sa.Column("bytes", sa.Integer, nullable=False),
)


class WrittenMarks(Struct, frozen=True):
    """What was written of one student."""

    signature: str
    """Of all that it was made of."""
    characters: int
    """Of the automatic comments."""
    bytes: int
    """Of the copies below ``autograded/``."""

    def stands(self, signature: str, copies: Iterable[str]) -> bool:
        """Whether just this was written, and the copies are there."""
        if self.signature != signature:
            return False
        try:
            return sum(os.stat(path).st_size for path in copies) == self.bytes  # noqa: PTH116 - see the caller
        except OSError:
            return False


def digest(releases: Mapping[str, bytes]) -> str:
    """SHA-256 over the releases of an assignment, by name."""
    found = hashlib.sha256()
    for name, release in sorted(releases.items()):
        found.update(name.encode() + b"\0" + hashlib.sha256(release).digest())
    return found.hexdigest()


def signature(entry: GradedEntry, released: str, language: str) -> str:
    """SHA-256 over all that marks, comments and copies of an entry are made of.

    What the cells printed, and what lies beside the notebooks, follows from the key, unless a submission is
    graded once more.

    Args:
        entry: of its result, an outline is enough.
        released: `digest` of the releases.
        language: of the comments.
    """
    parts = (*astuple(entry.key), language, str(entry.submitted_at), released)
    found = hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "replace"))
    found.update(encode(replace(entry.graded, notebooks=(), files=())))
    return found.hexdigest()


def standing(connection: sa.Connection, assignment: str, listed: Iterable[str]) -> dict[str, WrittenMarks]:
    """What was written last, of students whose submission is listed and has all these comments."""
    submission, comment, notebook = tables.SUBMISSION, tables.COMMENT, tables.SUBMITTED_NOTEBOOK
    counted = (  # from comments upwards: nbgrader has no index the other way
        sa.select(submission.c.student_id, sa.func.sum(sa.func.length(comment.c.auto_comment)))
        .join_from(comment, notebook, notebook.c.id == comment.c.notebook_id)
        .join(submission, submission.c.id == notebook.c.assignment_id)
        .join(tables.ASSIGNMENT, tables.ASSIGNMENT.c.id == submission.c.assignment_id)
        .where(tables.ASSIGNMENT.c.name == assignment)
        .group_by(submission.c.student_id)
    )
    characters = dict.fromkeys(listed, 0)
    characters |= {str(student): int(total or 0) for student, total in connection.execute(counted)}
    table = _WRITTEN
    query = sa.select(table.c.student, table.c.signature, table.c.characters, table.c.bytes)
    rows = connection.execute(query.where(table.c.assignment == assignment))
    found = {str(student): WrittenMarks(*values) for student, *values in rows}
    return {one: written for one, written in found.items() if characters.get(one) == written.characters}


def note(connection: sa.Connection, assignment: str, written: Mapping[str, WrittenMarks]) -> None:
    """Remember what was written, by student."""
    rows = [
        {"assignment": assignment, "student": one, **asdict(of_student)}
        for one, of_student in written.items()
    ]
    tables.upsert(connection, _WRITTEN, rows, ("assignment", "student"))
