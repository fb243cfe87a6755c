"""Recursive descent parser; its grammar is documented in `parse`."""

from __future__ import annotations

from itertools import islice
from typing import cast

from autograder.formulas.errors import Unreadable
from autograder.formulas.nodes import FUNCTIONS, Add, Const, Div, Fn, Mul, Neg, Node, Num, Pow, Sym, walk_tree
from autograder.formulas.notation.summation import multiply_closed, sum_closed
from autograder.formulas.notation.tokens import Tokens
from autograder.formulas.values.evaluate import MAX_EXPONENT, Rational, TooLarge, Undefined, evaluate_constant

MAX_DEPTH = 40
"""Limit on nested brackets, functions and exponents."""
MAX_CLOSED_NODES = 500
"""Limit on the parts of a sum's closed form."""
MAX_DIVISIONS = 16
"""Limit on divisions in one product."""

CLOSING = {"(": ")", "[": "]", "{": "}"}
_ROUNDED = {"⌈": ("⌉", "ceil"), "⌊": ("⌋", "floor")}
_CLOSERS = frozenset((*CLOSING.values(), "⌉", "⌋"))
_ATOMS = frozenset(("symbol", "number", "constant"))
_AFTER_AN_ATOM = frozenset(("^", "!", "%"))
"""Tokens that modify the atom before them."""
_STARTS = _ATOMS | {"function", "(", "[", "{", "frac", "binom", "summation", "index", *_ROUNDED}
_NAMED = frozenset(("log", "log2", "ln", "lg", "exp", "sqrt", "cbrt", "sigmoid", "tanh", "sin", "cos", "tan"))
"""Functions with an unclear extent if they have no brackets: ``log n/2``."""
_E = Const("e")
_TWO = Num(2)
_SPELT_OUT = {"log2": "log", "cbrt": "sqrt", "tan": "sin"}
"""Spellings without a node: the function that expresses them together with a base, a root or a quotient."""


class Reader:
    """A position in a sequence of tokens; each parsing method reads the construct in its name."""

    __slots__ = ("_bars", "_depth", "_in_list", "_indices", "_kinds", "_own", "_position", "_tokens")

    def __init__(self, tokens: Tokens, *, in_list: bool = False, canonical: bool = False) -> None:
        """Start at the first token.

        Args:
            tokens: the formula.
            in_list: whether ``×`` outside brackets separates elements.
            canonical: whether `to_text` wrote the formula: it puts exponents in brackets
                and omits other brackets.
        """
        self._own = canonical
        self._tokens = tokens
        self._kinds = tokens.kinds
        self._position = 0
        self._depth = 0
        self._bars = 0
        """Number of bars of absolute values that are open inside the innermost brackets."""
        self._in_list = in_list
        self._indices: list[str] = []
        """Indices of the sums and products whose bodies are being read."""

    @property
    def kind(self) -> str:
        """The kind of the next token."""
        return self._kinds[self._position]

    def accept(self, kind: str) -> bool:
        """Skip the next token and return True if it is of this kind."""
        if self._kinds[self._position] == kind:
            self._position += 1
            return True
        return False

    def make_error(self, code: str, **params: str) -> Unreadable:
        """Return an error at the next token."""
        return Unreadable(code, self._tokens.places[self._position], **params)

    def close_bracket(self, closing: str, opened: int) -> None:
        """Skip a closing bracket.

        Raises:
            Unreadable: the next token is another one.
        """
        if not self.accept(closing):
            if self.kind == "end":
                raise Unreadable("unclosed", opened, bracket=closing)
            raise self._make_unexpected_error()

    def expect_end(self) -> None:
        """Check that no token is left.

        Raises:
            Unreadable: one is.
        """
        if self.kind != "end":
            raise self._make_unexpected_error()

    def parse_sum(self) -> Node:
        """Parse terms with signs between them."""
        kinds = self._kinds
        negative = kinds[self._position] == "-"
        if negative or kinds[self._position] == "+":
            self._position += 1
        terms = [self._parse_product(negative=negative)]
        while True:
            kind = kinds[self._position]
            if kind == "+":
                self._position += 1
                terms.append(self._parse_product())
            elif kind == "-":
                self._position += 1
                terms.append(Neg(self._parse_product()))
            else:
                total = terms[0] if len(terms) == 1 else Add(tuple(terms))
                return self._parse_infix(total) if kind in ("over", "choose") else total

    def _parse_infix(self, above: Node) -> Node:
        r"""Parse the rest of a group after ``\over`` or ``\choose``, which apply to the whole group."""
        position, kind = self._position, self.kind
        self._enter_level()
        self._position += 1
        below = self.parse_sum()
        self._depth -= 1
        return Div(above, below) if kind == "over" else self._build_call("binomial", (above, below), position)

    def _parse_product(self, *, negative: bool = False) -> Node:
        """Parse factors with operators between them; a leading minus goes into ``//`` as in Python."""
        kinds, start = self._kinds, self._position
        factors = [self._parse_factor()]
        divisions, clear = 0, True
        while True:
            kind = kinds[self._position]
            if kind == "*" or (kind == "×" and not self._in_list):
                self._position += 1
                factors.append(self._parse_factor())
                clear = True
            elif kind in ("/", "//"):
                self._position += 1
                divisions += 1
                if divisions > MAX_DIVISIONS and not self._own:
                    raise self.make_error("too-many-parts", limit=str(MAX_DIVISIONS))
                clear = False
                numerator = factors[0] if len(factors) == 1 else Mul(tuple(factors))
                if negative and kind == "//":
                    numerator, negative = Neg(numerator), False
                quotient = Div(numerator, self._parse_factor())
                factors = [quotient if kind == "/" else Fn("floor", (quotient,))]
            elif kind in _STARTS or (kind == "|" and not self._bars):
                self._check_adjacent(start, clear=clear)
                factors.append(self._parse_power())
                clear = True
            else:
                product = factors[0] if len(factors) == 1 else Mul(tuple(factors))
                return Neg(product) if negative else product

    def _check_adjacent(self, start: int, *, clear: bool) -> None:
        """Reject a factor without an operator before it if it is ambiguous.

        Args:
            start: position at which the product begins.
            clear: whether there is no division before the factor.
        """
        kinds, position = self._kinds, self._position
        before = kinds[position - 1]
        if kinds[position] == "number" and not (before == ")" and self._is_start_of_product(position)):
            raise self.make_error("two-numbers" if before == "number" else "number-after-name")
        if not clear:
            # 1/2 d is half of d; in 1/2d, d/2 h and d/(2) h the last factor may belong to the denominator
            half = position == start + 3 and kinds[start : start + 3] == ["number", "/", "number"]
            if not (half and self._tokens.has_gap(position)):
                raise self.make_error("ambiguous-division")
        if self._own:
            return
        # x[i] is an index in code, not a product.
        if kinds[position] == "[" and before == "symbol" and "]" in kinds[position + 2 : position + 4]:
            raise self.make_error("index")
        if kinds[position] == "frac" and before == "number" and self._is_plain_fraction(position):
            raise self.make_error("two-numbers")

    def _is_start_of_product(self, position: int) -> bool:
        """Return whether a number belongs to the next token, as in ``(n + 1) 4d``.

        There must be blanks before the number and none after it.
        """
        follows = self._kinds[position + 1] in ("symbol", "(")
        return follows and self._tokens.has_gap(position) and not self._tokens.has_gap(position + 1)

    def _is_plain_fraction(self, position: int) -> bool:
        """Return whether a fraction consists of two numbers, so that ``1 1/2`` may be a sum."""
        kinds = [kind for kind in self._kinds[position + 1 : position + 7] if kind not in ("{", "}")]
        return kinds[:2] == ["number", "number"]

    def _parse_factor(self) -> Node:
        kinds, position = self._kinds, self._position
        # Short cut for the most frequent case, an atom without exponent or suffix.
        if kinds[position] in _ATOMS and kinds[position + 1] not in _AFTER_AN_ATOM:
            self._position = position + 1
            return cast("Node", self._tokens.values[position])
        negative = False
        while kinds[self._position] in ("-", "+"):
            negative ^= kinds[self._position] == "-"
            self._position += 1
        power = self._parse_power()
        return Neg(power) if negative else power

    def _parse_power(self) -> Node:
        base = self._parse_postfix()
        kind = self._kinds[self._position]
        if kind != "^":
            return base
        position = self._position
        self._enter_level()
        self._position += 1
        exponent = self._parse_factor()
        self._depth -= 1
        self._check_exponent(exponent, position)
        if not self._own:
            self._check_reach(base, exponent, position + 1)
        return Pow(base, exponent)

    def _check_reach(self, base: Node, exponent: Node, start: int) -> None:
        """Reject an exponent without brackets if the next token may belong to it: ``2^2n``, ``d^1/2``."""
        kinds, position, places = self._kinds, self._position, self._tokens.places
        # Brackets around the exponent make its extent clear.
        if kinds[start] in CLOSING:
            return
        if kinds[position - 1] == "!":
            raise self.make_error("ambiguous-exponent")
        bare_e = base == _E
        if kinds[position] == "/":
            short = exponent == Num(1) or isinstance(exponent, Neg) or bare_e
            if short and kinds[position + 1] in _ATOMS and not self._tokens.has_gap(position):
                raise self.make_error("ambiguous-exponent")
        elif kinds[position] == "*" and bare_e and isinstance(exponent, Neg):
            raise self.make_error("ambiguous-exponent")
        elif kinds[position] in _STARTS and kinds[position] != "number":
            letters = kinds[position] == kinds[position - 1] == "symbol"
            together = letters and self._tokens.text[places[position] - 1].isalpha()
            power = isinstance(exponent, Neg) or (
                isinstance(exponent, Num) and exponent.value.denominator > 1
            )
            glued = (power or isinstance(base, Num)) and not self._tokens.has_gap(position)
            if together or glued or bare_e:
                raise self.make_error("ambiguous-exponent")

    def _check_exponent(self, exponent: Node, position: int) -> None:
        """Reject constant exponents that no answer needs."""
        if _is_too_large(exponent):
            raise Unreadable("exponent-too-large", self._tokens.places[position], limit=str(MAX_EXPONENT))

    def _parse_postfix(self) -> Node:
        position = self._position
        kind = self._kinds[position]
        if kind in _ATOMS:
            self._position = position + 1
            atom = cast("Node", self._tokens.values[position])
        else:
            atom = self._parse_compound(kind)
        if self._kinds[self._position] == "!":
            self._position += 1
            if self.kind == "!":
                raise self._make_unexpected_error()
            return self._build_call("factorial", (atom,), position)
        if self._kinds[self._position] == "%":
            self._position += 1
            return Div(atom, Num(100))
        return atom

    def _parse_compound(self, kind: str) -> Node:
        if kind in CLOSING:
            return self._parse_group()
        if kind == "function":
            return self._parse_function()
        if kind == "|":
            return self._parse_absolute()
        if kind in _ROUNDED:
            closing, name = _ROUNDED[kind]
            return Fn(name, (self._parse_group(closing),))
        if kind == "summation":
            return self._parse_summation()
        if kind == "index":
            return self._parse_index()
        if kind in ("frac", "binom"):
            position = self._position
            self._position += 1
            self._enter_level()
            # binom(n, k) as a function, not the LaTeX command with two groups.
            if kind == "binom" and self.kind == "(":
                self._depth -= 1
                return self._build_call("binomial", self._parse_arguments("binomial"), position)
            first, second = self._parse_argument(), self._parse_last_argument()
            self._depth -= 1
            return (
                Div(first, second)
                if kind == "frac"
                else self._build_call("binomial", (first, second), position)
            )
        if kind == "end":
            raise self.make_error("empty" if self._position == 0 else "ends-early")
        raise self._make_unexpected_error()

    def _parse_index(self) -> Node:
        """Parse the index of a sum or product, inside its body."""
        index = cast("Sym", self._tokens.values[self._position])
        if index.name not in self._indices:
            raise self.make_error("unknown-name", name=index.name, suggestion="")
        self._position += 1
        return index

    def _parse_summation(self) -> Node:
        r"""Parse ``\sum_{i=1}^{n} body``; the body is the product that follows.

        Raises:
            Unreadable: it has no closed form, or a term follows, which may belong to the body.
        """
        position = self._position
        written = str(self._tokens.values[position])
        error = Unreadable("summation", self._tokens.places[position], name=written)
        self._position += 3  # the sign, "_" and "{"
        index = cast("Sym", self._tokens.values[self._position]).name
        self._position += 2  # the index and "="
        self._enter_level()
        lower = self.parse_sum()
        self.close_bracket("}", self._tokens.places[position + 2])
        self._position += 1  # "^"
        upper = self._parse_argument()
        if index in self._indices:
            raise error
        self._indices.append(index)
        start = self._position
        body = self._parse_product()
        self._indices.pop()
        self._depth -= 1
        whole = self._kinds[start] in CLOSING and self._kinds[self._position - 1] in CLOSING.values()
        if self.kind in ("+", "-") and not whole:
            raise error
        close = sum_closed if written == "\\sum" else multiply_closed
        closed = close(index, lower, upper, body)
        # A bound appears several times in a power sum: nested bounds would grow exponentially.
        if closed is None or any(islice(walk_tree(closed), MAX_CLOSED_NODES, None)):
            raise error
        if isinstance(closed, Fn):
            return self._build_call(closed.name, closed.arguments, position)
        if isinstance(closed, Pow):
            self._check_exponent(closed.exponent, position)
        return closed

    def _parse_group(self, closing: str = "") -> Node:
        """Parse a formula in brackets."""
        position = self._position
        in_list, self._in_list = self._in_list, False
        # Inside brackets, commas and bars have their usual meaning again.
        bars, self._bars = self._bars, 0
        self._enter_level()
        self._position += 1
        inner = self.parse_sum()
        self.close_bracket(closing or CLOSING[self._kinds[position]], self._tokens.places[position])
        self._depth -= 1
        self._in_list, self._bars = in_list, bars
        return inner

    def _parse_absolute(self) -> Node:
        """Parse a formula between bars: the size of a set, or an absolute value."""
        position = self._position
        self._enter_level()
        self._bars += 1
        self._position += 1
        inner = self.parse_sum()
        self.close_bracket("|", self._tokens.places[position])
        self._bars -= 1
        self._depth -= 1
        positive = (
            isinstance(inner, Sym) and self._tokens.vocabulary.domains.get(inner.name, "real") != "real"
        )
        return inner if positive else Fn("abs", (inner,))

    def _parse_argument(self) -> Node:
        r"""Parse an argument of ``\frac``: a group in braces, or a single token."""
        return self._parse_group() if self.kind == "{" else self._parse_postfix()

    def _parse_last_argument(self) -> Node:
        r"""Parse the second argument of ``\frac``.

        TeX takes one digit of ``\frac{1}23``, but authors may mean all of them.
        """
        position = self._position
        second = self._parse_argument()
        if self._kinds[position] == "number" and isinstance(second, Num) and second.value >= 10:
            raise Unreadable("two-numbers", self._tokens.places[position])
        return second

    def _parse_function(self) -> Node:
        position = self._position
        spelling = str(self._tokens.values[position])
        self._position += 1
        self._enter_level()
        extra: list[Node] = []
        if spelling == "log2":
            extra = [_TWO]
        elif spelling == "log" and self.accept("_"):
            extra = [self._parse_argument()]
        root: Node | None = Num(3) if spelling == "cbrt" else None
        if spelling == "sqrt" and self.kind == "[":
            root = self._parse_group()
        raised = self._position
        exponent = self._parse_factor() if self.accept("^") else None
        if exponent is not None:
            self._check_exponent(exponent, raised)
            if self.kind == "number":
                raise self.make_error("two-numbers")
        name = _SPELT_OUT.get(spelling, spelling)
        bare = self.kind not in CLOSING
        arguments = [*self._parse_arguments(name), *extra]
        self._depth -= 1
        if bare and not self._own and spelling in _NAMED:
            self._check_end(position, name)
        if name == "pow":
            call = self._build_power_call(arguments, position)
        elif root is not None:
            call = Pow(self._get_only_argument(name, arguments, position), Div(Num(1), root))
        else:
            call = self._build_call(name, arguments, position)
        if spelling == "tan":
            call = Div(call, self._build_call("cos", arguments, position))
        return call if exponent is None else Pow(call, exponent)

    def _check_end(self, position: int, name: str) -> None:
        """Reject ``log n/2`` and ``log n*d``; blanks or a radical sign make the extent clear."""
        radical = self._tokens.text[self._tokens.places[position] :][:1] in ("√", "∛")
        if self.kind in ("*", "/", "//") and not radical and not self._tokens.has_gap(self._position):
            raise self.make_error("ambiguous-function", name=name)

    def _build_power_call(self, arguments: list[Node], position: int) -> Node:
        """Return the power for ``pow(d, 2)``."""
        if len(arguments) != 2:
            offset = self._tokens.places[position]
            raise Unreadable("argument-count", offset, name="pow", count=str(len(arguments)))
        base, exponent = arguments
        self._check_exponent(exponent, position)
        return Pow(base, exponent)

    def _get_only_argument(self, name: str, arguments: list[Node], position: int) -> Node:
        """Return the single argument of a root."""
        if len(arguments) != 1:
            offset = self._tokens.places[position]
            raise Unreadable("argument-count", offset, name=name, count=str(len(arguments)))
        return arguments[0]

    def _parse_arguments(self, name: str) -> list[Node]:
        opened = self.kind
        if opened not in CLOSING:
            single = self._parse_power()
            if self.kind in _STARTS:  # log a b: is b part of the argument?
                raise self.make_error("ambiguous-function", name=name)
            return [single]
        position = self._position
        in_list, self._in_list = self._in_list, False
        bars, self._bars = self._bars, 0
        self._position += 1
        arguments = [self.parse_sum()]
        while self.accept(","):
            arguments.append(self.parse_sum())
        self.close_bracket(CLOSING[opened], self._tokens.places[position])
        self._in_list, self._bars = in_list, bars
        return arguments

    def _build_call(self, name: str, arguments: list[Node] | tuple[Node, ...], position: int) -> Node:
        """Return a function applied to arguments; check their number and size."""
        least, most = FUNCTIONS[name]
        offset = self._tokens.places[position]
        if not least <= len(arguments) <= most:
            raise Unreadable("argument-count", offset, name=name, count=str(len(arguments)))
        call = Fn(name, tuple(arguments))
        if name in ("factorial", "binomial") and any(map(_is_too_large, call.arguments)):
            raise Unreadable("number-too-large", offset)
        return call

    def _enter_level(self) -> None:
        self._depth += 1
        # Canonical text has more brackets than the text that was written.
        if self._depth > (2 * MAX_DEPTH if self._own else MAX_DEPTH):
            raise self.make_error("too-deep", limit=str(MAX_DEPTH))

    def _make_unexpected_error(self) -> Unreadable:
        kind = self.kind
        if kind == "end":
            return self.make_error("ends-early")
        if kind == ",":
            return self.make_error("comma")
        if kind == "=":
            return self.make_error("unexpected-relation")
        if kind in _CLOSERS:
            return self.make_error("unopened", bracket=kind)
        sign = self._tokens.get_written(self._position)
        return self.make_error("not-equal" if kind == "≠" else "unexpected", sign=sign)


def _is_too_large(node: Node) -> bool:
    """Return whether a constant is too large for an exponent, a factorial or a binomial."""
    if isinstance(node, Sym):
        return False
    value: Rational | None
    try:
        value = node.value if isinstance(node, Num) else evaluate_constant(node)
    except (TooLarge, Undefined):
        return True
    return value is not None and not -MAX_EXPONENT <= value <= MAX_EXPONENT
