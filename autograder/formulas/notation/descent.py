"""Recursive descent parser; its grammar is documented in `parse`."""

from __future__ import annotations

from typing import cast

from autograder.formulas.errors import Unreadable
from autograder.formulas.nodes import FUNCTIONS, Add, Const, Div, Fn, Mul, Neg, Node, Num, Pow, Sym
from autograder.formulas.notation.tokens import Tokens
from autograder.formulas.values.evaluate import MAX_EXPONENT, Rational, TooLarge, Undefined, constant_value

MAX_DEPTH = 40
"""Limit on nested brackets, functions and exponents."""
MAX_DIVISIONS = 16
"""Limit on divisions in one product."""

CLOSING = {"(": ")", "[": "]", "{": "}"}
_ROUNDED = {"⌈": ("⌉", "ceil"), "⌊": ("⌋", "floor")}
_CLOSERS = frozenset((*CLOSING.values(), "⌉", "⌋"))
_ATOMS = frozenset(("symbol", "number", "constant"))
_AFTER_AN_ATOM = frozenset(("^", "!", "%", "raised"))
"""Tokens that modify the atom before them."""
_STARTS = _ATOMS | {"function", "(", "[", "{", "frac", "binom", *_ROUNDED}
_NAMED = frozenset(("log", "log2", "ln", "lg", "exp", "sqrt", "cbrt", "sigmoid", "tanh", "sin", "cos", "tan"))
"""Functions with an unclear extent if they have no brackets: ``log n/2``."""
_E = Const("e")
_TWO = Num(2)
_SPELT_OUT = {"log2": "log", "cbrt": "sqrt", "tan": "sin"}
"""Spellings without a node: the function that expresses them together with a base, a root or a quotient."""


class Reader:
    """A position in a sequence of tokens; each parsing method reads the construct in its name."""

    __slots__ = ("_bars", "_depth", "_in_list", "_kinds", "_own", "_position", "_tokens")

    def __init__(self, tokens: Tokens, *, in_list: bool = False, own: bool = False) -> None:
        """Start at the first token.

        Args:
            tokens: the formula.
            in_list: whether ``×`` outside brackets separates elements.
            own: whether `to_text` wrote the formula: it puts exponents in brackets, and omits other brackets.
        """
        self._own = own
        self._tokens = tokens
        self._kinds = tokens.kinds
        self._position = 0
        self._depth = 0
        self._bars = 0
        """Number of bars of absolute values that are open inside the innermost brackets."""
        self._in_list = in_list

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

    def error(self, code: str, **params: str) -> Unreadable:
        """Return an error at the next token."""
        return Unreadable(code, self._tokens.places[self._position], **params)

    def close(self, closing: str, opened: int) -> None:
        """Skip a closing bracket.

        Raises:
            Unreadable: the next token is another one.
        """
        if not self.accept(closing):
            if self.kind == "end":
                raise Unreadable("unclosed", opened, bracket=closing)
            raise self._unexpected()

    def finish(self) -> None:
        """Check that no token is left.

        Raises:
            Unreadable: one is.
        """
        if self.kind != "end":
            raise self._unexpected()

    def sum(self) -> Node:
        """Parse terms with signs between them."""
        kinds = self._kinds
        negative = kinds[self._position] == "-"
        if negative or kinds[self._position] == "+":
            self._position += 1
        terms = [self._product(negative=negative)]
        while True:
            kind = kinds[self._position]
            if kind == "+":
                self._position += 1
                terms.append(self._product())
            elif kind == "-":
                self._position += 1
                terms.append(Neg(self._product()))
            else:
                total = terms[0] if len(terms) == 1 else Add(tuple(terms))
                return self._infix(total) if kind in ("over", "choose") else total

    def _infix(self, above: Node) -> Node:
        r"""Parse the rest of a group after ``\over`` or ``\choose``, which apply to the whole group."""
        place, kind = self._position, self.kind
        self._down()
        self._position += 1
        below = self.sum()
        self._depth -= 1
        return Div(above, below) if kind == "over" else self._call("binomial", (above, below), place)

    def _product(self, *, negative: bool = False) -> Node:
        """Parse factors with operators between them; a leading minus goes into ``//`` as in Python."""
        kinds, start = self._kinds, self._position
        factors = [self._factor()]
        divisions, clear = 0, True
        while True:
            kind = kinds[self._position]
            if kind == "*" or (kind == "×" and not self._in_list):
                self._position += 1
                factors.append(self._factor())
                clear = True
            elif kind in ("/", "//"):
                self._position += 1
                divisions += 1
                if divisions > MAX_DIVISIONS and not self._own:
                    raise self.error("too-many-parts", limit=str(MAX_DIVISIONS))
                clear = False
                numerator = factors[0] if len(factors) == 1 else Mul(tuple(factors))
                if negative and kind == "//":
                    numerator, negative = Neg(numerator), False
                quotient = Div(numerator, self._factor())
                factors = [quotient if kind == "/" else Fn("floor", (quotient,))]
            elif kind in _STARTS or (kind == "|" and not self._bars):
                self._check_beside(start, clear=clear)
                factors.append(self._power())
                clear = True
            else:
                product = factors[0] if len(factors) == 1 else Mul(tuple(factors))
                return Neg(product) if negative else product

    def _check_beside(self, start: int, *, clear: bool) -> None:
        """Reject a factor without an operator before it if it is ambiguous.

        Args:
            start: position at which the product begins.
            clear: whether there is no division before the factor.
        """
        kinds, place = self._kinds, self._position
        before = kinds[place - 1]
        if kinds[place] == "number" and not (before == ")" and self._begins_a_product(place)):
            raise self.error("two-numbers" if before == "number" else "number-after-name")
        if not clear:
            # 1/2 d is half of d; in 1/2d, d/2 h and d/(2) h the last factor may belong to the denominator
            half = place == start + 3 and kinds[start : start + 3] == ["number", "/", "number"]
            if not (half and self._tokens.gap(place)):
                raise self.error("ambiguous-division")
        if self._own:
            return
        # x[i] is an index in code, not a product.
        if kinds[place] == "[" and before == "symbol" and "]" in kinds[place + 2 : place + 4]:
            raise self.error("index")
        if kinds[place] == "frac" and before == "number" and self._is_plain_fraction(place):
            raise self.error("two-numbers")

    def _begins_a_product(self, place: int) -> bool:
        """Return whether a number belongs to the next token, as in ``(n + 1) 4d``.

        There must be blanks before the number and none after it.
        """
        follows = self._kinds[place + 1] in ("symbol", "(")
        return follows and self._tokens.gap(place) and not self._tokens.gap(place + 1)

    def _is_plain_fraction(self, place: int) -> bool:
        """Return whether a fraction consists of two numbers, so that ``1 1/2`` may be a sum."""
        kinds = [kind for kind in self._kinds[place + 1 : place + 7] if kind not in ("{", "}")]
        return kinds[:2] == ["number", "number"]

    def _factor(self) -> Node:
        kinds, place = self._kinds, self._position
        # Short cut for the most frequent case, an atom without exponent or suffix.
        if kinds[place] in _ATOMS and kinds[place + 1] not in _AFTER_AN_ATOM:
            self._position = place + 1
            return cast("Node", self._tokens.values[place])
        negative = False
        while kinds[self._position] in ("-", "+"):
            negative ^= kinds[self._position] == "-"
            self._position += 1
        power = self._power()
        return Neg(power) if negative else power

    def _power(self) -> Node:
        base = self._postfix()
        kind = self._kinds[self._position]
        if kind == "raised":
            self._position += 1
            if self.kind in _AFTER_AN_ATOM:  # base or exponent? `tokenize` decides
                raise self._unexpected()
            return Pow(base, cast("Node", self._tokens.values[self._position - 1]))
        if kind != "^":
            return base
        place = self._position
        self._down()
        self._position += 1
        exponent = self._factor()
        self._depth -= 1
        self._check_exponent(exponent, place)
        if not self._own:
            self._check_reach(base, exponent, place + 1)
        return Pow(base, exponent)

    def _check_reach(self, base: Node, exponent: Node, start: int) -> None:
        """Reject an exponent without brackets if the next token may belong to it: ``2^2n``, ``d^1/2``."""
        kinds, place, places = self._kinds, self._position, self._tokens.places
        # Brackets around the exponent make its extent clear.
        if kinds[start] in CLOSING:
            return
        if kinds[place - 1] == "!":
            raise self.error("ambiguous-exponent")
        bare_e = base == _E
        if kinds[place] == "/":
            short = exponent == Num(1) or isinstance(exponent, Neg) or bare_e
            if short and kinds[place + 1] in _ATOMS and not self._tokens.gap(place):
                raise self.error("ambiguous-exponent")
        elif kinds[place] == "*" and bare_e and isinstance(exponent, Neg):
            raise self.error("ambiguous-exponent")
        elif kinds[place] in _STARTS and kinds[place] != "number":
            letters = kinds[place] == kinds[place - 1] == "symbol"
            text = self._tokens.text
            together = letters and (not text or text[places[place] - 1].isalpha())
            power = isinstance(exponent, Neg) or (
                isinstance(exponent, Num) and exponent.value.denominator > 1
            )
            glued = (power or isinstance(base, Num)) and not self._tokens.gap(place)
            if together or glued or bare_e:
                raise self.error("ambiguous-exponent")

    def _check_exponent(self, exponent: Node, place: int) -> None:
        """Reject constant exponents that no answer needs."""
        if _too_large(exponent):
            raise Unreadable("exponent-too-large", self._tokens.places[place], limit=str(MAX_EXPONENT))

    def _postfix(self) -> Node:
        place = self._position
        kind = self._kinds[place]
        if kind in _ATOMS:
            self._position = place + 1
            atom = cast("Node", self._tokens.values[place])
        else:
            atom = self._compound(kind)
        if self._kinds[self._position] == "!":
            self._position += 1
            if self.kind == "!":
                raise self._unexpected()
            return self._call("factorial", (atom,), place)
        if self._kinds[self._position] == "%":
            self._position += 1
            return Div(atom, Num(100))
        return atom

    def _compound(self, kind: str) -> Node:
        if kind in CLOSING:
            return self._group()
        if kind == "function":
            return self._function()
        if kind == "|":
            return self._absolute()
        if kind in _ROUNDED:
            closing, name = _ROUNDED[kind]
            return Fn(name, (self._group(closing),))
        if kind in ("frac", "binom"):
            place = self._position
            self._position += 1
            self._down()
            # binom(n, k) as a function, not the LaTeX command with two groups.
            if kind == "binom" and self.kind == "(":
                self._depth -= 1
                return self._call("binomial", self._arguments("binomial"), place)
            first, second = self._argument(), self._last_argument()
            self._depth -= 1
            return Div(first, second) if kind == "frac" else self._call("binomial", (first, second), place)
        if kind == "end":
            raise self.error("empty" if self._position == 0 else "ends-early")
        raise self._unexpected()

    def _group(self, closing: str = "") -> Node:
        """Parse a formula in brackets."""
        place = self._position
        in_list, self._in_list = self._in_list, False
        # Inside brackets, commas and bars have their usual meaning again.
        bars, self._bars = self._bars, 0
        self._down()
        self._position += 1
        inner = self.sum()
        self.close(closing or CLOSING[self._kinds[place]], self._tokens.places[place])
        self._depth -= 1
        self._in_list, self._bars = in_list, bars
        return inner

    def _absolute(self) -> Node:
        """Parse a formula between bars: the size of a set, or an absolute value."""
        place = self._position
        self._down()
        self._bars += 1
        self._position += 1
        inner = self.sum()
        self.close("|", self._tokens.places[place])
        self._bars -= 1
        self._depth -= 1
        positive = (
            isinstance(inner, Sym) and self._tokens.vocabulary.domains.get(inner.name, "real") != "real"
        )
        return inner if positive else Fn("abs", (inner,))

    def _argument(self) -> Node:
        r"""Parse an argument of ``\frac``: a group in braces, or a single token."""
        return self._group() if self.kind == "{" else self._postfix()

    def _last_argument(self) -> Node:
        r"""Parse the second argument of ``\frac``.

        TeX takes one digit of ``\frac{1}23``, but authors may mean all of them.
        """
        place = self._position
        second = self._argument()
        if self._kinds[place] == "number" and isinstance(second, Num) and second.value >= 10:
            raise Unreadable("two-numbers", self._tokens.places[place])
        return second

    def _function(self) -> Node:
        place = self._position
        spelling = str(self._tokens.values[place])
        self._position += 1
        self._down()
        extra: list[Node] = []
        if spelling == "log2":
            extra = [_TWO]
        elif spelling == "log" and self.accept("_"):
            extra = [self._argument()]
        root: Node | None = Num(3) if spelling == "cbrt" else None
        if spelling == "sqrt" and self.kind == "[":
            root = self._group()
        raised = self._position
        exponent = self._factor() if self.accept("^") else None
        if exponent is not None:
            self._check_exponent(exponent, raised)
            if self.kind == "number":
                raise self.error("two-numbers")
        name = _SPELT_OUT.get(spelling, spelling)
        bare = self.kind not in CLOSING
        arguments = [*self._arguments(name), *extra]
        self._depth -= 1
        if bare and not self._own and spelling in _NAMED:
            self._check_end(place, name)
        if name == "pow":
            call = self._call_of_power(arguments, place)
        elif root is not None:
            call = Pow(self._only(name, arguments, place), Div(Num(1), root))
        else:
            call = self._call(name, arguments, place)
        if spelling == "tan":
            call = Div(call, self._call("cos", arguments, place))
        return call if exponent is None else Pow(call, exponent)

    def _check_end(self, place: int, name: str) -> None:
        """Reject ``log n/2`` and ``log n*d``; blanks or a radical sign make the extent clear."""
        radical = self._tokens.text[self._tokens.places[place] :][:1] in ("√", "∛")
        if self.kind in ("*", "/", "//") and not radical and not self._tokens.gap(self._position):
            raise self.error("ambiguous-function", name=name)

    def _call_of_power(self, arguments: list[Node], place: int) -> Node:
        """Return the power for ``pow(d, 2)``."""
        if len(arguments) != 2:
            offset = self._tokens.places[place]
            raise Unreadable("argument-count", offset, name="pow", count=str(len(arguments)))
        base, exponent = arguments
        self._check_exponent(exponent, place)
        return Pow(base, exponent)

    def _only(self, name: str, arguments: list[Node], place: int) -> Node:
        """Return the single argument of a root."""
        if len(arguments) != 1:
            offset = self._tokens.places[place]
            raise Unreadable("argument-count", offset, name=name, count=str(len(arguments)))
        return arguments[0]

    def _arguments(self, name: str) -> list[Node]:
        opened = self.kind
        if opened not in CLOSING:
            single = self._power()
            if self.kind in _STARTS:  # log a b: is b part of the argument?
                raise self.error("ambiguous-function", name=name)
            return [single]
        place = self._position
        in_list, self._in_list = self._in_list, False
        bars, self._bars = self._bars, 0
        self._position += 1
        arguments = [self.sum()]
        while self.accept(","):
            arguments.append(self.sum())
        self.close(CLOSING[opened], self._tokens.places[place])
        self._in_list, self._bars = in_list, bars
        return arguments

    def _call(self, name: str, arguments: list[Node] | tuple[Node, ...], place: int) -> Node:
        """Return a function applied to arguments; check their number and size."""
        least, most = FUNCTIONS[name]
        offset = self._tokens.places[place]
        if not least <= len(arguments) <= most:
            raise Unreadable("argument-count", offset, name=name, count=str(len(arguments)))
        call = Fn(name, tuple(arguments))
        if name in ("factorial", "binomial") and any(map(_too_large, call.arguments)):
            raise Unreadable("number-too-large", offset)
        return call

    def _down(self) -> None:
        self._depth += 1
        # Canonical text has more brackets than the text that was written.
        if self._depth > (2 * MAX_DEPTH if self._own else MAX_DEPTH):
            raise self.error("too-deep", limit=str(MAX_DEPTH))

    def _unexpected(self) -> Unreadable:
        kind = self.kind
        if kind == "end":
            return self.error("ends-early")
        if kind == ",":
            return self.error("comma")
        if kind == "=":
            return self.error("unexpected-relation")
        if kind in _CLOSERS:
            return self.error("unopened", bracket=kind)
        sign = self._tokens.written(self._position)
        return self.error("not-equal" if kind == "≠" else "unexpected", sign=sign)


def _too_large(node: Node) -> bool:
    """Return whether a constant is too large for an exponent, a factorial or a binomial."""
    if isinstance(node, Sym):
        return False
    value: Rational | None
    try:
        value = node.value if isinstance(node, Num) else constant_value(node)
    except (TooLarge, Undefined):
        return True
    return value is not None and not -MAX_EXPONENT <= value <= MAX_EXPONENT
