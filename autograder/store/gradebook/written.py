"""The last written state of each student, so that a run over unchanged submissions skips the writing.

`store.gradebook.marks.find_overwritten_rows` finds marks that another program overwrote; comments and
the copies below ``autograded/`` are compared by size here.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import asdict, astuple, replace

from autograder.grading.store import GradedEntry, encode_result
from autograder.store.gradebook import tables

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
    """Record of the data written for one student."""

    signature: str
    """Digest of everything the written data was made of."""
    characters: int
    """Total length of the automatic comments."""
    bytes: int
    """Total size of the copies below ``autograded/``."""

    def is_current(self, signature: str, copies: Iterable[str]) -> bool:
        """Decide whether exactly this was written, and the copies still have their size."""
        if self.signature != signature:
            return False
        try:
            return sum(os.stat(path).st_size for path in copies) == self.bytes  # noqa: PTH116 - see the caller
        # A missing copy has to be written again.
        except OSError:
            return False


def hash_releases(releases: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of an assignment's releases, with their names."""
    hasher = hashlib.sha256()
    for name, release in sorted(releases.items()):
        # Digests have a fixed length, so that one release cannot run into the name of the next.
        hasher.update(name.encode() + b"\0" + hashlib.sha256(release).digest())
    return hasher.hexdigest()


def compute_signature(entry: GradedEntry, released: str, language: str) -> str:
    """Return the SHA-256 of everything that the marks, comments and copies of an entry are made of.

    Cell outputs and extra files follow from the key, unless a submission is graded again.

    Args:
        entry: an outline of its result is sufficient.
        released: digest of the releases, from `hash_releases`.
        language: language of the comments.
    """
    parts = (*astuple(entry.key), language, str(entry.submitted_at), released)
    hasher = hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "replace"))
    hasher.update(encode_result(replace(entry.graded, notebooks=(), files=())))
    return hasher.hexdigest()


def load_written(
    connection: sa.Connection, assignment: str, listed: Iterable[str]
) -> dict[str, WrittenMarks]:
    """Return the last written record of listed students, if all their comments still have that length."""
    submission, comment, notebook = tables.SUBMISSION, tables.COMMENT, tables.SUBMITTED_NOTEBOOK
    counted = (  # joined upwards from comments: nbgrader has no index the other way
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
    last_written = {str(student): WrittenMarks(*values) for student, *values in rows}
    return {
        student_id: written
        for student_id, written in last_written.items()
        if characters.get(student_id) == written.characters
    }


def record_written(connection: sa.Connection, assignment: str, written: Mapping[str, WrittenMarks]) -> None:
    """Store the record of the written data, by student."""
    rows = [
        {"assignment": assignment, "student": student, **asdict(of_student)}
        for student, of_student in written.items()
    ]
    tables.insert_or_update(connection, _WRITTEN, rows, ("assignment", "student"))
