"""A synthetic class that solved the assignment ``gpt2``, including some copied submissions.

Each function consists of steps with several variants. Common variants are drawn more often, as in a real
class, and some students follow the lecture almost everywhere. Names, comments and texts are random as well.
So independent solutions have much in common without copying.
"""

from __future__ import annotations

import ast
import json
import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from msgspec import Struct

NAME = "gpt2"
_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
FORMS = ("renamed", "reordered", "reformatted", "translated")
"""Ways to disguise a copy."""


class Copied(Struct, frozen=True):
    """A planted copy."""

    source: str
    copy: str
    how: tuple[str, ...]
    with_text: bool


class CopiedClass(Struct, frozen=True):
    """The submissions of a class: student → cell → source."""

    works: Mapping[str, Mapping[str, str]]
    copies: tuple[Copied, ...]
    """The planted copies with their sources."""


PLANTED: tuple[tuple[tuple[str, ...], bool], ...] = (
    (("renamed",), False),
    (("reordered",), False),
    (("reformatted",), False),
    (("translated",), False),
    (("renamed", "reordered"), False),
    (("renamed", "reformatted"), True),
    (("reordered", "translated"), False),
    (("renamed", "translated"), True),
    (("renamed", "reordered", "reformatted"), False),
    (FORMS, False),
)


def copied_class(
    students: int = 200, seed: int = 7, planted: Sequence[tuple[tuple[str, ...], bool]] = PLANTED
) -> CopiedClass:
    """Return a class that contains one copy for each disguise.

    Args:
        students: copies included.
        seed: of all random choices.
        planted: for each copy, the disguises of the code, and whether the text was also copied with
            reordered sentences.
    """
    numbers = random.Random(seed)
    names = [f"s{number:03}" for number in range(students)]
    order = numbers.sample(names, len(names))
    copying, honest = order[: len(planted)], order[len(planted) :]
    by_the_book = {student for student in honest if numbers.random() < 0.15}
    works = {student: _work(numbers, lecture=student in by_the_book) for student in honest}
    # Common code cannot be a detectable copy.
    independent = [student for student in honest if student not in by_the_book]
    copies = []
    for copy, (how, with_text), source in zip(
        copying, planted, numbers.sample(independent, len(planted)), strict=True
    ):
        taken = {
            cell: hidden(text, how, numbers) if cell != "strategies" else text
            for cell, text in works[source].items()
        }
        sentences = taken["strategies"].rstrip(".").split(". ")
        reordered = ". ".join(numbers.sample(sentences, len(sentences))) + "."
        taken["strategies"] = reordered if with_text else _text(numbers, lecture=False)
        works[copy] = taken
        copies.append(Copied(source, copy, how, with_text))
    return CopiedClass(dict(sorted(works.items())), tuple(copies))


def _work(numbers: random.Random, *, lecture: bool) -> dict[str, str]:
    own = {concept: numbers.choice(pool) for concept, pool in _DATA["pools"].items()}
    work = {}
    for function in _DATA["function"]:
        lines = [function["head"]]
        for ways in (one["ways"] for one in function["step"]):
            if numbers.random() < 0.2:
                lines.append(f"    # {numbers.choice(_DATA['comments'])[0]}")
            step = Template(_chosen(ways, numbers, lecture=lecture)).substitute(own)
            lines += [f"    {line}" for line in step.split("\n") if line.strip()]
        work[function["cell"]] = "\n".join(lines)
    tried = numbers.sample(_DATA["tried"], numbers.choice((0, 1, 1, 2)))
    digits = {letter: str(numbers.randint(2, 9)) for letter in "abc"}
    work[""] = "\n".join(Template(one).substitute(own, **digits) for one in tried)
    return work | {"strategies": _text(numbers, lecture=lecture)}


def _chosen(ways: Sequence[str], numbers: random.Random, *, lecture: bool) -> str:
    if lecture and numbers.random() < 0.9:
        return ways[0]
    return numbers.choices(ways, [1 / (place + 1) for place in range(len(ways))])[0]


def _text(numbers: random.Random, *, lecture: bool) -> str:
    drawn = [
        _chosen(ways, numbers, lecture=lecture).format(a=numbers.randint(2, 9), b=numbers.randint(3, 40))
        for ways in _DATA["sentences"]
    ]
    pairs = [
        f"{first}, {second}" if second[0].islower() else f"{first}. {second}"
        for first, second in zip(drawn[::2], drawn[1::2], strict=True)
    ]
    return ". ".join(numbers.sample(pairs, len(pairs))) + "."


def hidden(source: str, how: Sequence[str], numbers: random.Random) -> str:
    """Return a disguised copy of some code.

    Args:
        source: Python.
        how: some of `FORMS`.
        numbers: source of random choices.
    """
    if "translated" in how:
        for english, german in _DATA["comments"]:
            source = source.replace(f"# {english}", f"# {german}")
    if "renamed" in how:
        source = _renamed(source, numbers)
    if "reordered" in how:
        tree = ast.parse(source)
        _reorder(tree)
        source = ast.unparse(tree)
    if "reformatted" in how:
        source = _reformatted(source)
    return source


def _renamed(source: str, numbers: random.Random) -> str:
    """Rename everything that is assigned."""
    names = sorted(
        {
            node.id
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        }
        - {"tokens", "attention_mask", "logits", "k"}
    )
    new = {
        name: f"{numbers.choice('abcdefgh')}{at}_{numbers.randint(10, 99)}" for at, name in enumerate(names)
    }
    return re.sub(r"(?<![\w.'])[A-Za-z_]\w*(?![\w'])", lambda found: new.get(found[0], found[0]), source)


def _reorder(tree: ast.AST) -> None:
    """Swap independent neighbouring statements in every body, and functions at the top level."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        at = 0
        while at + 1 < len(body):
            if _is_free(body[at], body[at + 1]):
                body[at], body[at + 1] = body[at + 1], body[at]
                at += 1
            at += 1


def _is_free(statement: ast.stmt, other: ast.stmt) -> bool:
    kinds = (ast.Assign, ast.For, ast.FunctionDef, ast.AugAssign)
    if not (isinstance(statement, kinds) and isinstance(other, kinds)):
        return False
    (reads, writes), (others_reads, others_writes) = _touched(statement), _touched(other)
    return not (writes & (others_reads | others_writes) or others_writes & reads)


def _touched(node: ast.AST) -> tuple[set[str], set[str]]:
    reads, writes = set(), set()
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            (reads if isinstance(child.ctx, ast.Load) else writes).add(child.id)
        if isinstance(child, ast.Subscript | ast.Attribute) and not isinstance(child.ctx, ast.Load):
            inner = child.value
            writes |= {part.id for part in ast.walk(inner) if isinstance(part, ast.Name)}
        if isinstance(child, ast.FunctionDef):
            writes.add(child.name)
    return reads, writes


def _reformatted(source: str) -> str:
    """Change line breaks, spaces and quotes, and remove comments."""
    lines = ast.unparse(ast.parse(source)).replace("'", '"').split("\n")
    return "\n".join(
        line.replace("    ", "  ") + ("\n" if at % 3 == 1 else "") for at, line in enumerate(lines)
    )


def notebook(release: bytes, work: Mapping[str, str]) -> bytes:
    """Return the released notebook with a student's answers; those without a cell get a new one."""
    notebook = json.loads(release)
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if name and name in work:
            cell["source"] = work[name]
    if work.get("", "").strip():
        own = {
            "cell_type": "code",
            "metadata": {},
            "source": work[""],
            "outputs": [],
            "execution_count": None,
        }
        notebook["cells"].append(own)
    return json.dumps(notebook).encode()


def hand_in(root: Path, release: bytes, handed: CopiedClass) -> None:
    """Write the notebooks of a class below ``submitted/``."""
    for student, work in handed.works.items():
        folder = root / "submitted" / student / NAME
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{NAME}.ipynb").write_bytes(notebook(release, work))
