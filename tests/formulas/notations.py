"""Hands that write formulas: one tree in many notations, as students and their editors produce them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from msgspec import Struct

from autograder.formulas.nodes import Add, Const, Div, Fn, Mul, Neg, Node, Num, Pow, Sym

Symbols = Callable[[str], str]
LETTERS = {
    "n_layers": "L", "n_heads": "h", "d_model": "d", "d_head": "d_k", "d_ff": "d_hidden", "n_voc": "V",
    "n": "N",
}  # fmt: skip
RAISED = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
ITALIC = {
    chr(first + letter): chr(start + letter)
    for first, start in ((ord("a"), 0x1D44E), (ord("A"), 0x1D434))
    for letter in range(26)
    if first + letter != ord("h")  # this block of Unicode has no italic h
}


class Hand(Struct, frozen=True):
    """A notation in which formulas are written."""

    times: str = "*"
    power: str = "{}^{}"
    """Base and exponent, if the exponent is a whole number below ten."""
    symbol: Symbols = str
    brackets: tuple[str, str] = ("(", ")")
    quotient: str = "{}/{}"
    """Numerator and denominator, bracketed unless they are simple."""
    fraction: bool = False
    """Whether the quotient needs no brackets around numerator and denominator."""
    plus: str = " + "
    minus: str = " - "
    sign: str = "-"
    around: str = "{}"
    number: Callable[[int], str] = str
    function: str = "{}({})"
    names: Mapping[str, str] = {}
    """Function → its spelling, if it has one."""

    def __call__(self, *sides: Node) -> str:
        """Return a whole formula, or the sides of an equation."""
        return self.around.format(" = ".join(map(self._write, sides)))

    def _write(self, node: Node) -> str:
        match node:
            case Add(terms):
                return self._sum(terms)
            case Neg(operand):
                return f"{self.sign}{self._within(operand, Add, Neg)}"
            case Mul((first, *rest)):
                parts = [self._behind(factor) for factor in rest]
                blank = not self.times.strip() and not self.fraction
                quotients = (Div,) if blank else ()  # a factor after a/b and a space is ambiguous
                return self.times.join((self._within(first, Add, Neg, Mul, *quotients), *parts))
            case Div(above, below):
                if self.fraction:
                    return self.quotient.format(self._write(above), self._write(below))
                return self.quotient.format(
                    self._within(above, Add, Neg), self._within(below, Add, Neg, Mul, Div)
                )
            case Pow(base, exponent):
                return self._power(base, exponent)
            case Fn(name, arguments):
                inner = ", ".join(map(self._write, arguments))
                return self.function.format(self.names.get(name, name), inner)
            case Num(value):
                return self._number(value)
            case Const(name) | Sym(name):
                return name if isinstance(node, Const) else self.symbol(name)
        raise AssertionError(node)

    def _number(self, value: int | Fraction) -> str:
        if isinstance(value, int):
            return self.number(value)
        return self._bracketed(f"{self.number(value.numerator)}/{self.number(value.denominator)}")

    def _power(self, base: Node, exponent: Node) -> str:
        below = self._within(base, Add, Neg, Mul, Div, Pow, Fn)
        if isinstance(exponent, Num) and isinstance(exponent.value, int) and exponent.value < 10:
            return self.power.format(below, exponent.value)
        if "{{" in self.power:
            return self.power.format(below, self._write(exponent))
        mark = "**" if "**" in self.power else "^"
        opening, closing = ("{", "}") if "\\" in self.times + self.around else ("(", ")")
        return f"{below}{mark}{opening}{self._write(exponent)}{closing}"

    def _sum(self, terms: tuple[Node, ...]) -> str:
        text = self._within(terms[0], Add)
        for term in terms[1:]:
            if isinstance(term, Neg):
                text += f"{self.minus}{self._within(term.operand, Add, Neg)}"
            else:
                text += f"{self.plus}{self._within(term, Add, Neg)}"
        return text

    def _within(self, node: Node, *bracketed: type[Node]) -> str:
        text = self._write(node)
        return self._bracketed(text) if isinstance(node, bracketed) else text

    def _behind(self, factor: Node) -> str:
        """Return a later factor, with brackets around a number if no sign precedes it."""
        text = self._within(factor, Add, Neg, Mul, Div)
        unsigned = self.times.strip() in ("", r"\,")
        return self._bracketed(text) if unsigned and text[0].isdigit() else text

    def _bracketed(self, text: str) -> str:
        return self.brackets[0] + text + self.brackets[1]


def _subscripted(form: str, base: str = "{}") -> Symbols:
    """Return a writer of names such as ``n_layers`` that formats the subscript."""

    def write(name: str) -> str:
        letter, _, below = name.partition("_")
        return base.format(letter) + (form.format(below) if below else "")

    return write


def _italic(name: str) -> str:
    base, _, below = name.partition("_")
    return "".join(ITALIC.get(letter, letter) for letter in base) + (f"_{below}" if below else "")


def _upright(name: str) -> str:
    return rf"\mathrm{{{name}}}".replace("_", r"\_")


def _german(value: int) -> str:
    return f"{value},0" if value < 100 else str(value)


def _wide(value: int) -> str:
    return "".join(chr(0xFF10 + int(digit)) for digit in str(value))


class Superscripts(Hand, frozen=True):
    """A hand that raises exponents: ``d²``."""

    def _power(self, base: Node, exponent: Node) -> str:
        below = self._within(base, Add, Neg, Mul, Div, Pow, Fn)
        if isinstance(exponent, Num) and isinstance(exponent.value, int):
            return below + str(exponent.value).translate(RAISED)
        return f"{below}^({self._write(exponent)})"


class WrittenOut(Hand, frozen=True):
    """A hand that writes ``d*d`` for a square."""

    def _power(self, base: Node, exponent: Node) -> str:
        if isinstance(exponent, Num) and exponent.value in (2, 3):
            below = self._within(base, Add, Neg, Mul, Div, Pow)
            return self._bracketed(self.times.join([below] * int(exponent.value)))
        return Hand._power(self, base, exponent)


LATEX = {"power": "{}^{{{}}}", "brackets": (r"\left(", r"\right)"), "fraction": True,
         "quotient": r"\frac{{{}}}{{{}}}",
         "function": r"\{}{{({})}}", "names": {"sqrt": "sqrt"}}  # fmt: skip


def _latex(**different: object) -> Hand:
    return Hand(**{**LATEX, **different})  # type: ignore[arg-type]


HANDS: Mapping[str, Hand] = {
    "plain": Hand(),
    "python": Hand(power="{}**{}"),
    "python with blanks": Hand(times=" * ", power="{} ** {}", quotient="{} / {}"),
    "dense": Hand(plus="+", minus="-"),
    "blanks between factors": Hand(times=" "),
    "letters": Hand(times=" ", symbol=LETTERS.__getitem__),
    "letters with stars": Hand(symbol=LETTERS.__getitem__, power="{}**{}"),
    "letters and superscripts": Superscripts(times=" ", symbol=LETTERS.__getitem__),
    "middle dots": Superscripts(times="·"),
    "dot operators": Superscripts(times=" ⋅ ", sign="−", minus=" − "),
    "crosses": Superscripts(times=" × ", minus=" – "),
    "the letter x": Hand(times=" x "),
    "asterisk operators": Hand(times="∗", quotient="{}∕{}"),
    "italics": Superscripts(times=" ", symbol=_italic),
    "squares written out": WrittenOut(),
    "letters written out": WrittenOut(times="·", symbol=LETTERS.__getitem__),
    "square brackets": Hand(times=" * ", brackets=("[", "]")),
    "pow": Hand(power="pow({}, {})"),
    "numpy": Hand(power="{}**{}", function="np.{}({})", names={"ln": "log", "log": "log"}),
    "decimals": Hand(number="{}.0".format),
    "german decimals": Superscripts(times="·", number=_german),
    "exponents in brackets": Hand(power="{}^({})", times=" "),
    "latex": _latex(times=r" \cdot ", symbol=_subscripted(r"_{{\text{{{}}}}}")),
    "latex without signs": _latex(times=" ", symbol=_subscripted(r"_{{\text{{{}}}}}"), around="${}$"),
    "latex, upright": _latex(times=r"\,", symbol=_subscripted(r"_{{\mathrm{{{}}}}}"), around=r"\({}\)"),
    "latex, crosses": _latex(times=r" \times ", symbol=_subscripted("_{{{}}}"), around="$${}$$"),
    "latex, short": _latex(times=" ", symbol=_subscripted(r"_\text{{{}}}"), power="{}^{}"),
    "latex, display": _latex(times=r"\cdot ", symbol=_subscripted(r"_\mathrm{{{}}}"), around=r"\[{}\]"),
    "latex, dfrac": _latex(
        times=r"\cdot ", symbol=_subscripted(r"_{{\textit{{{}}}}}"), quotient=r"\dfrac{{{}}}{{{}}}"
    ),
    "latex, escaped": _latex(times=r" \cdot ", symbol=lambda name: name.replace("_", r"\_")),
    "latex, whole names": _latex(times=" ", symbol=_upright),
    "latex, operatorname": _latex(times=r" \cdot ", symbol=lambda name: rf"\operatorname{{{name}}}"),
    "latex, spaced": _latex(times=r" \times ", symbol=_subscripted(" _ {{ {} }}")),
    "latex, align": _latex(
        times=r" \cdot ", symbol=_subscripted("_{{{}}}"), around=r"\begin{{align*}}{}\end{{align*}}"
    ),
    "latex, letters": _latex(times=r" \, ", symbol=LETTERS.__getitem__, around="${}$"),
    "latex, big brackets": _latex(
        times=r" \cdot ", symbol=_subscripted("_{{{}}}"), brackets=(r"\bigl(", r"\bigr)"),
        around=r"\displaystyle {}",
    ),
    "latex, old fonts": _latex(times=r" \cdot ", symbol=_subscripted(r"_{{\rm {}}}")),
    "latex in an ordinary string": _latex(times=" \times ", symbol=_subscripted("_{{\text{{{}}}}}")),
    "markdown": Hand(times=r"\*", symbol=lambda name: name.replace("_", r"\_")),
    "html": Hand(times="&middot;", power="{}<sup>{}</sup>", symbol=_subscripted("<sub>{}</sub>")),
    "code span": Hand(around="`{}`", power="{}**{}"),
    "a full stop": Superscripts(times=" · ", around="{}."),
    "wide": Superscripts(times=" * ", number=_wide),
    "hard blanks": Superscripts(times="\u00a0*\u00a0", plus="\u00a0+\u00a0"),
    "lines": Hand(plus="\n  + ", times="*"),
}  # fmt: skip
"""Name → hand."""
