"""Cost and correctness of judging formulas: `python benchmarks/formulas.py [--json]`.

The answers are those of tests/formulas/exam_formulas.toml, right and wrong, to the nine formulas of the exam,
each in every notation of tests/formulas/notations.py. Each goes through the whole product: the cell with the
answer, every item of its question, and the message; the teacher's side is prepared in advance. The pairs in
HARD belong to no question: their key is made for each. The same pairs are judged by others in the same run (a
sample for slow ones): sympy's `parse_expr` and `simplify`, Math-Verify if it is installed, both in a separate
process with a time limit; sympy once more with every answer rewritten in plain text in advance, which is our
reader's work (`sympy_plain`); and a comparison of floats at a few points, which uses our reader. A peer
accepts an answer if it equals any answer that the rubric accepts. Times are processor time, because other
processes may share the machine; each is the median of three measurements. A peer that cannot read an answer
gives no verdict; for a right answer that counts as a false reject. With --json the last line is one JSON
object.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder.core.records import Status  # noqa: E402
from autograder.formulas.equality.compare import Comparer  # noqa: E402 - the answers live in tests
from autograder.formulas.errors import Undecided, Unreadable  # noqa: E402
from autograder.formulas.nodes import Add, Div, Mul, Neg, Node, Num, Pow, Sym  # noqa: E402
from autograder.formulas.notation.parse import parse, parse_sides  # noqa: E402
from autograder.formulas.printing.text import to_text  # noqa: E402
from autograder.formulas.values.points import Points  # noqa: E402
from autograder.questions.base.base import Draw, Evidence  # noqa: E402
from autograder.questions.formula.answer_key import FormulaKey  # noqa: E402
from tests.formulas import exam  # noqa: E402
from tests.formulas.exam import FORMULAS, RUBRIC, VOCABULARY  # noqa: E402
from tests.formulas.notations import HANDS  # noqa: E402

DRAW = Draw(b"a test")
REPEATS = 3
WARM = 500
SAMPLE = 240
SECONDS = 2.0
PROBES = 5
TOLERANCE = 1e-3
"""Relative, at each probe: the default of a widely used homework system."""

HARD = (
    ("d_model^2 - n^2", "(d_model - n)*(d_model + n)", True),
    ("1/(1/d_model + 1/n)", "d_model*n/(d_model + n)", True),
    ("0.1*d_model + 0.2*d_model", "0.3*d_model", True),
    ("(d_model + 1)^20", "(d_model + 1)^19*(d_model + 1)", True),
    ("(d_model + n)^4", "d_model^4 + 4*d_model^3*n + 6*d_model^2*n^2 + 4*d_model*n^3 + n^4", True),
    ("124439808", "124,439,808", True),
    ("d_model*n_layers/3", "n_layers*d_model*1/3", True),
    ("12*n_layers*d_model^2", "12", False),
    ("12*n_layers*d_model^2", "12.000001*n_layers*d_model^2", False),
    ("n^3*d_model", "n^3*d_model + 1/10^9", False),
    ("d_model/3", "0.33333*d_model", False),
    ("(d_model + 1)^20", "(d_model + 1)^20 + 1", False),
    ("8*d_model^2 + 5*d_model", "8*d_model^2 + 5*d_model + 1/1000", False),
    ("124439808", "124439809", False),
    ("2^30*n", "1073741825*n", False),
    ("n*(n - 1)/2", "n*(n - 1)/2 + (n - 1)*(n - 2)*(n - 3)/10^12", False),
)
"""Pairs that are almost equal, or look different and are equal."""


class Pair(NamedTuple):
    """One answer to be judged."""

    key: str
    right: tuple[str, ...]
    """Answers that the rubric accepts."""
    text: str
    equal: bool
    assume: str = ""
    """Equations that may be substituted."""


class Verdict(NamedTuple):
    """A judge's verdict on a pair (or why there is none), and the seconds it took."""

    verdict: str
    seconds: float


def main() -> None:
    """Judge, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="answers that slow peers get")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        serve_pairs(PEERS[options.peer])
        return
    pairs, hard = list_exam_pairs(), [Pair("", (right,), text, equal) for right, text, equal in HARD]
    # Fixed seeds: every run measures the same pairs.
    few = [*random.Random(4).sample(pairs, min(options.sample, len(pairs))), *hard]
    evidence = {pair: exam.evidence(FORMULAS[pair.key], pair.text, DRAW) for pair in pairs}
    judge = partial(judge_with_kind, evidence)
    shuffled = random.Random(5).sample(pairs, len(pairs))
    # Shuffled, so that caches do not profit from similar answers in a row.
    figures, few_figures = measure_judge(shuffled, judge, once=True), measure_judge(hard, judge_directly)
    plain = [pair._replace(text=" = ".join(map(to_text, parse_sides(pair.text, VOCABULARY)))) for pair in few]
    peers = {
        "floats": measure_judge([*pairs, *hard], compare_floats),
        "sympy": measure_peer("sympy", few),
        "sympy_plain": measure_peer("sympy", plain),
    }
    if find_spec("math_verify") is not None:
        peers["math_verify"] = measure_peer("math_verify", few)
    print_table({"this grader": figures, "hard pairs": few_figures, **peers})
    if options.json:
        print(json.dumps({**figures, "hard": few_figures, "peers": peers}))


def list_exam_pairs() -> list[Pair]:
    """Return every arrangement and slip of every formula, in every notation."""
    pairs = []
    for key, formula in FORMULAS.items():
        options = RUBRIC.get_question(formula.question).get_item(formula.item).options
        granted = options.get("assume", ())
        remarked = (text for entry in options.get("remark", ()) for text in to_list(entry["when"]))
        accepted = tuple(dict.fromkeys((formula.right[0], *options.get("accept", ()), *remarked)))
        assume = "" if not granted else ";".join(RUBRIC.assignment.assume[name] for name in granted)
        for texts, equal in ((formula.right, True), (formula.wrong, False)):
            for text in texts:
                sides = parse_sides(text, VOCABULARY)
                written = dict.fromkeys(hand(*sides) for hand in HANDS.values())
                pairs += [Pair(key, accepted, notation, equal, assume) for notation in written]
    return pairs


def to_list(when: str | list[str]) -> list[str]:
    """Return a list of one formula, or of several that are the same mistake."""
    return [when] if isinstance(when, str) else when


def judge_directly(pair: Pair) -> str:
    """Read and compare without a question: the key is made as well."""
    key = FormulaKey([parse(pair.right[0], VOCABULARY)], [Comparer(Points(VOCABULARY.domains, b"a test"))])
    try:
        return str(key.make_facts(parse(pair.text, VOCABULARY)).is_right(strictly=False))
    except Unreadable:
        return "unreadable"
    except Undecided:
        return "undecided"


def judge_with_kind(evidence: Mapping[Pair, Evidence], pair: Pair) -> str:
    """Judge as for a submission: read the answer's cell, judge every item, explain mistakes."""
    formula = FORMULAS[pair.key]
    results = exam.check(formula.question).judge(evidence[pair])
    status = next(result.status for result in results if result.item == formula.item)
    return {Status.PASSED: "True", Status.FAILED: "False", Status.NEEDS_REVIEW: "undecided"}[status]


def compare_floats(pair: Pair) -> str:
    """Compare values at a few fixed points, with assumptions substituted; equations by the ratio of
    differences.
    """
    try:
        return str(any(_is_close(pair.text, right, pair.assume) for right in pair.right))
    except Unreadable:
        return "unreadable"


def _is_close(text: str, right: str, assume: str) -> bool:
    generator = random.Random(1)
    answer, expected = parse_sides(text, VOCABULARY), parse_sides(right, VOCABULARY)
    ratios = []
    for _ in range(PROBES):
        point = {name: generator.uniform(1, 2) for name in sorted(VOCABULARY.domains)}
        for relation in filter(None, assume.split(";")):
            left, formula = parse_sides(relation, VOCABULARY)
            if isinstance(left, Sym):
                point[left.name] = evaluate_in_floats(formula, point)
        ratios.append(_subtract_sides(answer, point) / _subtract_sides(expected, point))
    # Two forms of one equation may differ by a constant factor.
    ratio = statistics.fmean(ratios) if "=" in right else 1.0
    return all(abs(each - ratio) <= TOLERANCE * abs(ratio) for each in ratios)


def _subtract_sides(sides: tuple[Node, ...], point: Mapping[str, float]) -> float:
    values = [evaluate_in_floats(side, point) for side in sides]
    return values[0] - (values[1] if len(values) > 1 else 0.0)


def evaluate_in_floats(node: Node, point: Mapping[str, float]) -> float:
    """Return the value of a formula in floats."""
    match node:
        case Sym(name):
            return point[name]
        case Num(value):
            return float(value)
        case Neg(operand):
            return -evaluate_in_floats(operand, point)
        case Add(parts):
            return math.fsum(evaluate_in_floats(part, point) for part in parts)
        case Mul(parts):
            return math.prod(evaluate_in_floats(part, point) for part in parts)
        case Div(above, below):
            return evaluate_in_floats(above, point) / evaluate_in_floats(below, point)
        case Pow(base, exponent):
            return math.pow(evaluate_in_floats(base, point), evaluate_in_floats(exponent, point))
    raise ValueError(node)


def measure_judge(
    pairs: Iterable[Pair], judge: Callable[[Pair], str], *, once: bool = False
) -> dict[str, float]:
    """Return verdicts and times of a judge in this process.

    Args:
        pairs: to be judged; the first ones are a warm-up.
        judge: returns a verdict.
        once: the judge caches answers, so only the first call for each counts, and the warm-up pairs are not
            measured.
    """
    pairs = list(pairs)
    for pair in pairs[:WARM]:
        judge(pair)
    if once:
        pairs = pairs[WARM:]
    times: list[list[float]] = [[] for _ in pairs]
    verdicts = [""] * len(pairs)
    for _ in range(1 if once else REPEATS):
        for number, pair in enumerate(pairs):
            started = time.thread_time()
            verdicts[number] = judge(pair)
            times[number].append(time.thread_time() - started)
    # The median is robust against interruptions by other processes.
    medians = [statistics.median(each) for each in times]
    return compute_figures(pairs, [Verdict(*entry) for entry in zip(verdicts, medians, strict=True)])


def compute_figures(pairs: Iterable[Pair], judged: list[Verdict]) -> dict[str, float]:
    """Return times in microseconds, and counts of wrong and missing verdicts."""
    times = sorted(entry.seconds for entry in judged)
    outcomes = Counter((pair.equal, entry.verdict) for pair, entry in zip(pairs, judged, strict=True))
    missing = {verdict: outcomes[True, verdict] + outcomes[False, verdict] for verdict in MISSING}
    return {
        "p50_us": round(1e6 * times[len(times) // 2], 1),
        "p99_us": round(1e6 * times[int(0.99 * len(times))], 1),
        "answers_per_second": round(len(times) / math.fsum(times)),
        "answers": len(times),
        "false_accepts": outcomes[False, "True"],
        "false_rejects": outcomes[True, "False"] + outcomes[True, "unreadable"],
        **missing,
    }


MISSING = ("unreadable", "undecided", "timeout")


def measure_peer(peer: str, pairs: list[Pair]) -> dict[str, float]:
    """Return verdicts and times of a peer in a separate process, which is replaced after a time-out."""
    judged: list[Verdict] = []
    while len(judged) < len(pairs):
        command = [sys.executable, __file__, "--peer", peer]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdin is not None
            assert worker.stdout is not None
            worker.stdout.readline()  # wait until its imports are done
            for pair in pairs[len(judged) :]:
                worker.stdin.write(json.dumps(pair) + "\n")
                worker.stdin.flush()
                answer = worker.stdout.readline()
                if not answer:
                    judged.append(Verdict("timeout", SECONDS))
                    break
                judged.append(Verdict(*json.loads(answer)))
    return compute_figures(pairs, judged)


def serve_pairs(judge: Callable[[Pair], str]) -> None:
    """Answer pairs from standard input until one takes too long, which ends this process."""
    import faulthandler

    judge(Pair("", ("n",), "n", equal=True))
    print("ready", flush=True)
    for line in sys.stdin:
        # A peer may hang; this ends the process whatever it is doing.
        faulthandler.dump_traceback_later(SECONDS, exit=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
        started = time.process_time()
        verdict = judge(Pair(*json.loads(line)))
        seconds = time.process_time() - started
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps((verdict, seconds)), flush=True)


def judge_with_sympy(pair: Pair) -> str:
    """Judge with `parse_expr`, implicit products and ``^``, then `simplify` of the difference."""
    import sympy
    from sympy.parsing import sympy_parser

    rules = (
        *sympy_parser.standard_transformations,
        sympy_parser.convert_xor,
        sympy_parser.implicit_multiplication,
    )
    symbols = {spelling: sympy.Symbol(name, positive=True) for spelling, name in VOCABULARY.names.items()}

    def read_sides(text: str) -> list[sympy.Expr]:
        return [sympy_parser.parse_expr(side, symbols, rules) for side in text.split("=")]

    def is_equal(answer: list[sympy.Expr], right: list[sympy.Expr]) -> bool:
        if len(answer) != len(right):
            return False
        if len(right) == 2:
            ratio = sympy.simplify((answer[0] - answer[1]) / (right[0] - right[1]))
            return ratio != 0 and not ratio.atoms(sympy.Add)
        difference = answer[0] - right[0]
        return bool(sympy.simplify(difference) == 0 or sympy.simplify(difference.subs(assumed)) == 0)

    try:
        answer = read_sides(pair.text)
        assumed = [tuple(read_sides(relation)) for relation in pair.assume.split(";") if relation]
        return str(any(is_equal(answer, read_sides(right)) for right in pair.right))
    except Exception:  # noqa: BLE001 - its parser runs the text as code
        return "unreadable"


def judge_with_math_verify(pair: Pair) -> str:
    """Judge with Math-Verify's own reader and judge."""
    import math_verify

    answer = math_verify.parse(f"${pair.text}$", parsing_timeout=None)
    if not answer:
        return "unreadable"
    rights = (math_verify.parse(f"${right}$", parsing_timeout=None) for right in pair.right)
    return str(any(math_verify.verify(right, answer, timeout_seconds=None) for right in rights))


PEERS: Mapping[str, Callable[[Pair], str]] = {
    "sympy": judge_with_sympy,
    "math_verify": judge_with_math_verify,
}


def print_table(judges: Mapping[str, Mapping[str, float]]) -> None:
    """Print a line for each judge."""
    columns = list(next(iter(judges.values())))
    print(" " * 14 + "".join(f"{name:>19}" for name in columns))
    for judge, figures in judges.items():
        print(f"{judge:14}" + "".join(f"{figures[name]:>19,}" for name in columns))


if __name__ == "__main__":
    main()
