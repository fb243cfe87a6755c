"""Fuzzing the formulas: `python -m tests.formulas.fuzz [--pairs N] [--inputs N] [--seed N]`.

The seed decides about the pairs and inputs, and about the secret that the points follow from.

Pairs: a random formula and a second one, equal because identities rewrote it or unequal because exact values
at some point say so; both in random hands, both read, the verdict compared. Inputs: random bytes, mutated
notations, loose tokens, and hostile texts; each is read, judged and written back. Whatever is no tree and
no refusal with a place is a failure, and so is anything that takes too long. The time is processor time of
the fastest of three runs; memory is traced on a sample, since tracing slows everything down tenfold.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided, Unreadable
from autograder.formulas.nodes import Add, Const, Div, Fn, Mul, Neg, Node, Num, Pow, Relation, Sym, Tree
from autograder.formulas.notation.parse import parse, parse_canonical, parse_sides, parse_tuple
from autograder.formulas.notation.several import parse_single
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.printing.text import to_text
from autograder.formulas.values.points import Points
from autograder.messages.reading import describe_unreadable
from tests.formulas.exam import FORMULAS, RUBRIC, VOCABULARY
from tests.formulas.grammars import SHARES, lattice_pair, related_pair, share_pair
from tests.formulas.hostile import DECIDED, REFUSED
from tests.formulas.notations import HANDS, Hand
from tests.formulas.test_compare import value
from tests.formulas.test_tokens import MORE_PIECES
from tests.formulas.verdicts import JudgingKey
from tests.support.pace import slowness

SECONDS = 0.5
"""Of the usual machine's processor (`tests.support.pace`), to judge a text and find what is wrong in it."""
SECONDS_OF_CASES = 1.5
"""The same with maxima and minima, which are compared case by case."""
BYTES = 5_000_000
TRACED = 200
"""One input in as many is traced for memory."""
NAMES = tuple(VOCABULARY.domains)
ONE_ARGUMENT = ("sqrt", "exp", "log", "ln", "lg", "factorial", "ceil", "floor")
REFUSALS = (
    "too-many-parts", "too-long", "too-deep", "ambiguous-comma", "exponent-too-large", "ambiguous-exponent",
)  # fmt: skip
"""Why a pair may be refused: its size, a comma inside a function, or an exponent of 1 before a stroke."""
SHOWN = 10_000
"""After so many pairs it is shown what came of them."""
POINTS = 4
MOST_BITS = 256
"""Of the values at small points: larger formulas are drawn anew."""


def formula(draw: random.Random, depth: int) -> Node:
    """A random rational formula."""
    kind = draw.random()
    if depth == 0 or kind < 0.25:
        return Sym(draw.choice(NAMES)) if draw.random() < 0.6 else Num(draw.randint(1, 30))
    if kind < 0.5:
        return Add(tuple(formula(draw, depth - 1) for _ in range(draw.randint(2, 3))))
    if kind < 0.8:
        return Mul(tuple(formula(draw, depth - 1) for _ in range(draw.randint(2, 3))))
    if kind < 0.86:
        return Neg(formula(draw, depth - 1))
    if kind < 0.92:
        return Div(formula(draw, depth - 1), formula(draw, depth - 1))
    return Pow(formula(draw, depth - 1), Num(draw.randint(1, 3)))


def rewritten(node: Node, draw: random.Random) -> Node:
    """An equal formula: identities applied at random places."""
    match node:
        case Add(terms):
            parts = [rewritten(term, draw) for term in terms]
            draw.shuffle(parts)
            if len(parts) > 2 and draw.random() < 0.3:
                parts = [Add((parts[0], parts[1])), *parts[2:]]
            inner: Node = Add(tuple(parts))
        case Mul(factors):
            parts = [rewritten(factor, draw) for factor in factors]
            draw.shuffle(parts)
            sums = [part for part in parts if isinstance(part, Add)]
            if sums and draw.random() < 0.5:
                rest = list(parts)
                rest.remove(sums[0])
                inner = Add(tuple(Mul((*rest, term)) if rest else term for term in sums[0].terms))
            else:
                inner = Mul(tuple(parts))
        case Neg(operand):
            inner = draw.choice((Neg(rewritten(operand, draw)), Mul((Neg(Num(1)), rewritten(operand, draw)))))
        case Div(above, below):
            top, bottom = rewritten(above, draw), rewritten(below, draw)
            inner = draw.choice((Div(top, bottom), Mul((top, Pow(bottom, Neg(Num(1)))))))
        case Pow(base, Num(exponent)) if isinstance(exponent, int) and exponent > 1 and draw.random() < 0.5:
            inner = Mul(tuple(rewritten(base, draw) for _ in range(exponent)))
        case Pow(base, exponent_node):
            inner = Pow(rewritten(base, draw), exponent_node)
        case _:
            inner = node
    return _disguised(inner, draw) if draw.random() < 0.15 else inner


def _disguised(node: Node, draw: random.Random) -> Node:
    number, name = Num(draw.randint(2, 9)), Sym(draw.choice(NAMES))
    return draw.choice(
        (
            Div(Mul((number, node)), number),
            Add((node, name, Neg(name))),
            Neg(Neg(node)),
            Mul((node, Num(1))),
            Div(Mul((node, name)), name),
            Add((Mul((node, Num(2))), Neg(node))),
        )
    )


def slipped(node: Node, draw: random.Random) -> Node:
    """A formula with one misconception somewhere."""
    match node:
        case Num(number):
            return Num(number + draw.choice((1, 2, 10)))
        case Sym(name):
            return draw.choice(
                (
                    Sym(draw.choice([other for other in NAMES if other != name])),
                    Pow(node, Num(2)),
                    Num(1),
                )
            )
        case Add(parts) | Mul(parts):
            place = draw.randrange(len(parts))
            changed = (*parts[:place], slipped(parts[place], draw), *parts[place + 1 :])
            return Add(changed) if isinstance(node, Add) else Mul(changed)
        case Neg(operand):
            return draw.choice((operand, Neg(slipped(operand, draw))))
        case Div(above, below):
            return (
                Div(slipped(above, draw), below) if draw.random() < 0.5 else Div(above, slipped(below, draw))
            )
        case Pow(base, Num(exponent)) if draw.random() < 0.5:
            return Pow(base, Num(exponent + 1))
        case Pow(base, exponent_node):
            return Pow(slipped(base, draw), exponent_node)
    raise AssertionError(node)


def witness(first: Node, second: Node, draw: random.Random, *, positive: bool = False) -> bool | None:
    """Whether two formulas have different (positive) values at a small point; None where they have none."""
    defined = False
    for _ in range(POINTS):
        at = {name: Fraction(draw.randint(2, 60)) for name in NAMES}
        try:
            values = value(first, at), value(second, at)
        except ZeroDivisionError:
            continue
        if max(entry.numerator.bit_length() for entry in values) > MOST_BITS:
            return None
        if positive and min(values) <= 0:
            continue
        defined = True
        if values[0] != values[1]:
            return True
    return False if defined else None


def pair(draw: random.Random) -> tuple[Node, Node, bool]:
    """Two formulas, and whether they are equal, which the way they were made tells."""
    while True:
        first = formula(draw, draw.choice((1, 2, 2, 3)))
        equal = draw.random() < 0.5
        second = rewritten(first if equal else slipped(first, draw), draw)
        function = draw.choice(("sqrt", "log")) if draw.random() < 0.08 else ""
        differ = witness(first, second, draw, positive=bool(function))
        if equal and differ:
            raise AssertionError(f"not an identity: {to_text(first)} and {to_text(second)}")
        if differ is None or differ is equal:  # undefined, or the misconception changed nothing
            continue
        if function:
            first, second = Fn(function, (first,)), Fn(function, (second,))
        return first, second, equal


class Sort(NamedTuple):
    """A sort of pairs."""

    below: float
    """A number between 0 and 1 is drawn; the first sort that it is below of is taken."""
    pair: Callable[[random.Random], tuple[Node | Relation, Node | Relation, bool]]
    hands: tuple[Hand, ...]


_ANY = tuple(HANDS.values())
_BARE = tuple(hand for hand in _ANY if hand.symbol is str and hand.around == "{}")
"""Hands that write every symbol by its name, and can write a side of a relation."""
_CALLING = tuple(hand for hand in _ANY if hand.function == "{}({})")
"""Hands that write functions of several arguments."""
SORTS: Mapping[str, Sort] = {
    "maxima": Sort(0.1, lattice_pair, _CALLING),
    "probabilities": Sort(0.2, share_pair, _BARE),
    "relations": Sort(0.3, related_pair, _BARE),
    "formulas": Sort(1, pair, _ANY),
}
SYMBOLS = Vocabulary({**RUBRIC.assignment.symbols, **dict.fromkeys(SHARES, Symbol("probability"))})


def check_pairs(count: int, seed: int) -> dict[str, Counter[str]]:
    """By sort, how many verdicts were right, wrong, left open; how many texts were refused for a reason."""
    draw = random.Random(seed)
    comparer = Comparer(Points(SYMBOLS.domains, f"a secret of the seed {seed}".encode()))
    outcomes: dict[str, Counter[str]] = {name: Counter() for name in SORTS}
    judged = 0
    while judged < count:
        kind = draw.random()
        name = next(name for name, sort in SORTS.items() if kind < sort.below)
        outcome = _pair_outcome(SORTS[name], draw, comparer)
        outcomes[name][outcome] += 1
        judged += outcome != "refused"
        if outcome != "refused" and judged % SHOWN == 0:
            print(f"{judged} pairs: {json.dumps(outcomes)}", file=sys.stderr, flush=True)
    return outcomes


def _pair_outcome(sort: Sort, draw: random.Random, comparer: Comparer) -> str:
    first, second, equal = sort.pair(draw)
    texts = [_written(tree, draw.choice(sort.hands)) for tree in (first, second)]
    try:
        read = parse_single if isinstance(first, Relation) else parse
        answer, right = (read(text, SYMBOLS) for text in texts)
        verdict = comparer.is_equal(answer, right)
    except Unreadable as error:
        if error.code not in REFUSALS:
            raise AssertionError(f"{texts}: {error}") from error
        return "refused"
    except Undecided:
        return "undecided of equal" if equal else "undecided"
    if verdict is not equal:
        print("WRONG", equal, texts, file=sys.stderr, flush=True)
    return "right" if verdict is equal else "wrong"


def _written(tree: Node | Relation, hand: Hand) -> str:
    if isinstance(tree, Relation):
        return f"{hand(tree.left)} {tree.sign} {hand(tree.right)}"
    return hand(tree)


def anything(draw: random.Random, depth: int) -> Node:
    """A random formula of every kind."""
    if depth == 0 or draw.random() < 0.3:
        return draw.choice((formula(draw, 1), Const("e"), Const("pi"), Sym(draw.choice(NAMES))))
    inner = [anything(draw, depth - 1) for _ in range(draw.randint(1, 3))]
    return draw.choice(
        (
            Fn(draw.choice(ONE_ARGUMENT), (inner[0],)),
            Fn("log", (inner[0], Num(draw.randint(2, 10)))),
            Fn(draw.choice(("max", "min")), tuple(inner)),
            Fn("binomial", (inner[0], inner[-1])),
            Pow(inner[0], inner[-1]),
            Div(inner[0], inner[-1]),
            Add((inner[0], *inner)),
            Mul((inner[0], *inner)),
        )
    )


def texts(draw: random.Random) -> Iterator[str]:
    """Endless inputs of every sort."""
    sources = [text for entry in FORMULAS.values() for text in (*entry.right, *entry.wrong)]
    hands = tuple(HANDS.values())
    hostile = (*REFUSED.values(), *DECIDED.values())
    while True:
        sort = draw.random()
        if sort < 0.2:
            yield bytes(draw.randrange(256) for _ in range(draw.randint(0, 120))).decode(
                "utf-8", "surrogateescape"
            )
        elif sort < 0.25:
            yield "".join(
                chr(draw.choice((draw.randrange(0x300, 0x2100), draw.randrange(0x110000)))) for _ in range(12)
            )
        elif sort < 0.6:
            yield mutated(draw.choice(hands)(*parse_sides(draw.choice(sources), VOCABULARY)), draw)
        elif sort < 0.75:
            yield draw.choice(hands)(anything(draw, draw.choice((1, 2, 3))))
        elif sort < 0.97:
            yield "".join(draw.choices(MORE_PIECES, k=draw.choice((1, 2, 3, 4, 5, 6, 8, 40))))
        elif sort < 0.99:
            yield mutated(draw.choice(hostile)[:4000], draw)
        else:
            piece = draw.choice(MORE_PIECES)
            yield piece * draw.randint(1, 2000 // max(1, len(piece))) + draw.choice(MORE_PIECES)


def mutated(text: str, draw: random.Random) -> str:
    """A text with a few characters dropped, doubled, swapped or replaced."""
    letters = list(text)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        place = draw.randrange(len(letters) + 1)
        change = draw.random()
        if change < 0.3:
            del letters[place : place + draw.randint(1, 3)]
        elif change < 0.7:
            letters.insert(place, draw.choice(MORE_PIECES))
        else:
            letters[place : place + 2] = reversed(letters[place : place + 2])
    return "".join(letters)


class Judge:
    """Everything that is done to an answer, in the order in which it is done."""

    def __init__(self) -> None:
        plain = Comparer(Points(VOCABULARY.domains, b"a test"))
        layer = "3*n_heads*d_model*d_head + n_heads*d_head*d_model + 8*d_model^2"
        self._key = JudgingKey([parse(layer, VOCABULARY)], [plain])
        self.written: list[tuple[Tree, str]] = []
        """What was read, and how it was written, until it is checked."""

    def __call__(self, text: str) -> str:
        """Read, judge and write an answer; whatever else it raises is a failure.

        Returns:
            ``"refused"``, ``"undecided"`` or ``"judged"``.
        """
        outcome = "refused"
        for read in (parse, parse_tuple):
            try:
                tree = read(text, VOCABULARY)
            except Unreadable as error:
                if not 0 <= error.offset <= len(text):
                    raise AssertionError(f"an offset beyond the text: {error}") from error
                describe_unreadable(error, text)
                continue
            self.written.append((tree, to_text(tree)))
            outcome = "judged"
            try:
                self._key.verdict(tree)
            except Undecided:
                outcome = "undecided"
        return outcome

    def check_written(self) -> None:
        """What was written is read as what it was; a property of ours that no answer waits for.

        Raises:
            AssertionError: it is read otherwise.
        """
        for tree, text in self.written:
            if parse_canonical(text, VOCABULARY) != tree:
                raise AssertionError(f"{tree} is written as {text}")
        self.written.clear()


def check_inputs(count: int, seed: int) -> Mapping[str, object]:
    """Outcomes, the slowest input and the one with most memory.

    Raises:
        AssertionError: an input took too long or too much, or was neither read nor refused.
    """
    draw, judge = random.Random(seed), Judge()
    outcomes: Counter[str] = Counter()
    slowest, most = (0.0, ""), (0, "")
    for number, text in zip(range(count), texts(draw), strict=False):
        started = time.thread_time()
        outcomes[judge(text)] += 1
        seconds = time.thread_time() - started
        if seconds > SECONDS / 2:
            seconds = min(seconds, fastest(judge, text))
        if "max" in text.lower() or "min" in text.lower():
            seconds *= SECONDS / SECONDS_OF_CASES
        slowest = max(slowest, (seconds, text))
        judge.check_written()
        if number % TRACED == 0:
            most = max(most, (peak(judge, text), text))
    for text in (*REFUSED.values(), *DECIDED.values()):
        slowest = max(slowest, (fastest(judge, text), text[:200]))
        most = max(most, (peak(judge, text), text[:200]))
    judge.check_written()
    if slowest[0] > SECONDS or most[0] > BYTES:
        raise AssertionError(f"too slow or too large: {slowest!r}, {most!r}")
    return {
        **outcomes,
        "slowest_ms": round(1000 * slowest[0], 2),
        "slowest": slowest[1][:80],
        "most_kb": most[0] // 1000,
    }


def fastest(judge: Judge, text: str) -> float:
    """The shortest of three times, in seconds of the usual machine."""
    times = []
    for _ in range(3):
        gc.collect()
        started = time.thread_time()
        judge(text)
        times.append(time.thread_time() - started)
    return min(times) / slowness()


def peak(judge: Judge, text: str) -> int:
    """The most memory that was in use at once beyond what was before, in bytes."""
    tracemalloc.start()
    try:
        judge(text)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def main() -> None:
    """Fuzz, and print what came of it as one line of JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    pairs = check_pairs(options.pairs, options.seed)
    print(json.dumps({"pairs": pairs}), flush=True)
    inputs = check_inputs(options.inputs, options.seed)
    print(json.dumps({"seed": options.seed, "pairs": pairs, "inputs": inputs}))
    if any(outcomes["wrong"] for outcomes in pairs.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
