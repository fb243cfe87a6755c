"""Judge Math-Verify's own test set with Math-Verify, sympy and `autograder.formulas` in one run.

`python benchmarks/formula_judges.py SDIST PYTHON [--json] [--show]`. SDIST is the source archive of
Math-Verify, which contains its tests (`pip download --no-deps --no-binary :all: math-verify`); PYTHON is an
interpreter with `math-verify[antlr4_13_2]` and `lark` installed. This repository contains neither.

Cases are read from the tests: a gold answer, a prediction, and whether they should be equal. Many predictions
are prose from which an answer has to be extracted, which the library does not do. So only pairs of pure
formulas count: no word of three letters or more remains after dollar signs, boxes and commands are removed.
Every letter is a real number. Each judge gets the same texts. "other" is a verdict that differs from the test
set; pairs that a judge cannot read or decide are "open".
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

SECONDS = 10
_AROUND = re.compile(r"\\boxed\s*(?=\{)|\\[\[\]()]|\$")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_WORD = re.compile(r"[A-Za-z]{3,}")
_LETTER = re.compile(r"(?<![A-Za-z])[A-Za-df-z](?![A-Za-z])|(?<=[A-Za-z])[A-Za-df-z]|[A-Za-df-z](?=[A-Za-z])")
_FUNCTIONS = frozenset(("sqrt", "sin", "cos", "log", "exp", "max", "min", "abs"))


class Case(NamedTuple):
    """Two answers, and whether they should be equal."""

    gold: str
    answer: str
    same: bool


def main() -> None:
    """Read the cases, judge them, print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sdist", type=Path)
    parser.add_argument("python", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--show", action="store_true", help="list what was judged otherwise, or not at all")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        for line in sys.stdin:
            print(json.dumps(PEERS[options.peer](Case(*json.loads(line)))), flush=True)
        return
    all_cases = list(dict.fromkeys(read_cases(options.sdist)))
    formula_cases = [case for case in all_cases if all(map(is_formula, case[:2]))]
    figures = {"all": len(all_cases), "formulas": len(formula_cases)}
    table = {}
    for name, python in (
        ("formulas", sys.executable),
        ("math_verify", options.python),
        ("sympy", options.python),
    ):
        verdicts = run_judge(name, str(python), formula_cases, options)
        table[name] = dict(Counter(
            "open" if verdict is None else "expected" if verdict is case.same else
            "other: equal" if verdict else "other: different"
            for case, verdict in zip(formula_cases, verdicts, strict=True)
        ))  # fmt: skip
        if options.show:
            for case, verdict in zip(formula_cases, verdicts, strict=True):
                if verdict is not case.same:
                    print(name, verdict, case)
    print(figures)
    for name, outcomes in table.items():
        print(f"{name:12}", outcomes)
    if options.json:
        print(json.dumps({**figures, "judges": table}))


def read_cases(sdist: Path) -> Iterator[Case]:
    """Yield every case of three plain values in the tests of the archive."""
    with tarfile.open(sdist) as archive:
        for member in archive.getmembers():
            if re.search(r"/tests/test_\w+\.py\Z", member.name) and (file := archive.extractfile(member)):
                for node in ast.walk(ast.parse(file.read())):
                    if isinstance(node, ast.Tuple) and len(node.elts) == 3:
                        values = [element.value for element in node.elts if isinstance(element, ast.Constant)]
                        match values:
                            case [str(gold), str(answer), int(same)]:
                                yield Case(gold, answer, bool(same))


def is_formula(text: str) -> bool:
    """Decide whether a text consists of a formula only."""
    words = _WORD.findall(_COMMAND.sub(" ", _AROUND.sub(" ", text)))
    return bool(text.strip()) and set(words) <= _FUNCTIONS


def run_judge(
    name: str, python: str, judged_cases: list[Case], options: argparse.Namespace
) -> list[bool | None]:
    """Return the verdicts of a judge in a separate process; one that takes too long leaves the case open."""
    command = [python, __file__, str(options.sdist), str(options.python), "--peer", name]
    verdicts: list[bool | None] = []
    while len(verdicts) < len(judged_cases):
        lines = "".join(json.dumps(case) + "\n" for case in judged_cases[len(verdicts) :])
        seconds = SECONDS * len(judged_cases)
        try:
            done = subprocess.run(
                command,
                input=lines,
                text=True,
                capture_output=True,
                check=False,
                timeout=seconds,
            )
            output = done.stdout
        except subprocess.TimeoutExpired as error:
            output = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
        got = [json.loads(line) for line in output.splitlines() if line in ("true", "false", "null")]
        # The case that exceeded the time limit has no verdict; continue after it.
        verdicts += got if len(verdicts) + len(got) >= len(judged_cases) else [*got, None]
    return verdicts


def judge_with_formulas(case: Case) -> bool | None:
    """Judge with `autograder.formulas`, in the first form in which both can be read."""
    from autograder.formulas import FormulaError, Symbol, Vocabulary, equal, parse

    gold, answer = (_AROUND.sub(" ", text).strip() for text in case[:2])
    letters = set(_LETTER.findall(_COMMAND.sub(" ", f"{gold} {answer}")))
    vocabulary = Vocabulary({letter: Symbol("real") for letter in sorted(letters)})
    for form in ("formula", "relation", "tuple"):
        try:
            return equal(parse(answer, vocabulary, form), parse(gold, vocabulary, form), vocabulary)
        except FormulaError:
            continue
    return None


def judge_with_math_verify(case: Case) -> bool | None:
    """Judge with Math-Verify's own reader and judge, with its defaults."""
    import math_verify

    gold, answer = (math_verify.parse(text, parsing_timeout=None) for text in case[:2])
    return bool(math_verify.verify(gold, answer, timeout_seconds=None)) if gold and answer else None


def judge_with_sympy(case: Case) -> bool | None:
    """Judge with `parse_latex`, then `simplify` of the difference."""
    import sympy
    from sympy.parsing.latex import parse_latex

    try:
        gold, answer = (parse_latex(_AROUND.sub(" ", text).strip(), backend="lark") for text in case[:2])
        if isinstance(gold, sympy.Rel) or isinstance(answer, sympy.Rel):
            return bool(sympy.simplify(gold) == sympy.simplify(answer))
        return bool(sympy.simplify(gold - answer) == 0)
    except Exception:  # noqa: BLE001 - its parser raises many kinds of errors
        return None


PEERS: Mapping[str, Callable[[Case], bool | None]] = {
    "formulas": judge_with_formulas, "math_verify": judge_with_math_verify, "sympy": judge_with_sympy,
}  # fmt: skip


if __name__ == "__main__":
    main()
