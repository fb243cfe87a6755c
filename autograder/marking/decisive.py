"""What decides the meaning of a sentence: negations, numbers, directions, opposites, and signs of formulas.

Two answers that differ in one of these may share all other words, and one is right where the other is wrong.
So nothing here weighs: whatever is not the same keeps two answers apart. Words are told by closed lists in
English and German; a word with a prefix that turns it round (``independent``, ``decoder``) by what else the
class wrote. What is taken for decisive though it is not keeps answers apart as well, which costs a look.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from autograder.checks.values import prose

_OPPOSITES = (
    (
        "not no nope never none nothing nobody nowhere nor neither cannot non without unless hardly barely "
        "except lack lacks lacking lacked fail* false* incorrect* wrong* untrue invalid* impossible* "
        "instead nicht nichts nie niemals niemand* nirgend* nein nee kein* weder ohne kaum außer ausser "
        "fehl* falsch* unwahr* inkorrekt* ungültig* unmöglich* sondern statt anstatt",
        "yes yeah yep true truly correct* valid* ja jawohl doch stimmt richtig* wahr wahre* korrekt* gültig*",
    ),
    (
        "increas* grow grows growing grown grew growth rise* rising rose raise* raising expand* gain* "
        "steig* stieg* gestiegen ansteig* anstieg* wachs* wächs* wuchs* gewachsen zunehm* zunahm* erhöh* "
        "vergrößer* vergrösser*",
        "decreas* declin* reduc* shrink* shrank shrunk* fall falls falling fell drop drops dropped dropping "
        "lessen* diminish* sink* sank sunk gesunken fäll* fiel fielen fallen gefallen ab abnehm* abnahm* "
        "verringer* vermind* verkleiner* reduzi* schrumpf*",
    ),
    ("large* big* great* groß* größ* gross* gröss*", "small* little klein*"),
    ("more most much many mehr meist* viel*", "less fewer few least wenig*"),
    ("maxim* max höchstens maximal*", "minim* min mindest* minimal*"),
    (
        "high higher highest highly hoch hohe* höher* höchst*",
        "low lower lowers lowest lowered niedrig* tief*",
    ),
    ("long longer longest lang lange* länger* längst*", "short* kurz* kürz*"),
    ("fast faster fastest quick* schnell*", "slow* langsam*"),
    ("strong* stark* stärk*", "weak* schwach* schwäch*"),
    ("better best besser* beste besten bester bestes", "worse* worst* schlecht*"),
    ("easy easier easiest easily simple simpler einfacher* leicht*", "hard* difficult* schwer* schwierig*"),
    (
        "before earlier previous* past prior preced* vor vorher* früher* vergangen* bevor",
        "after later next future subsequent* follow* nach nachher* später* nachdem zukünftig* künftig* folg*",
    ),
    (
        "above over up upward* upper top oben obere* über",
        "below beneath under down* bottom unten untere* unter",
    ),
    ("left links linke*", "right rechts rechte*"),
    ("inside inner within innen innerhalb innere*", "out outside outer außen außerhalb äußere* aussen"),
    ("input* eingab* eingang* eingäng*", "output* ausgab* ausgang* ausgäng*"),
    ("row* zeile*", "column* spalte*"),
    (
        "same equal* identical* gleich* identisch*",
        "differ* unequal* unterschied* verschieden* ander* ungleich*",
    ),
    (
        "all every* each alle aller allen alles jede*",
        "some sometimes einige* manch*",
        "only nur ausschließlich",
    ),
    ("always immer stets", "often oft häufig*", "rarely seldom selten*"),
    ("positiv*", "negativ*"),
    ("linear*", "quadrati*", "exponen*", "logarithm*", "constant* konstant*", "cubic* kubisch*"),
    (
        "add adds added adding addition* plus sum sums summed summing addier* summ*",
        "subtract* minus subtrah* differenz*",
        "multipl* product products times produkt* mal",
        "divi* quotient* geteilt teil teilt teilen",
    ),
    ("parallel*", "sequen* serial* seriell*"),
    ("global*", "local* lokal*"),
    ("begin* start* anfang* anfäng*", "end ends ended ending ende* endet last letzt*"),
    ("because since due weil denn wegen aufgrund", "therefore thus hence daher deshalb deswegen folglich"),
    ("by durch", "from"),
    ("must muss muß müssen", "darf dürfen may"),
    (
        "allow* permit* enabl* erlaub* ermöglich* lässt lassen",
        "prevent* forbid* forbad* prohibit* block* avoid* hinder* verhinder* verbiet* verbot* vermeid*",
    ),
    ("win wins won gewinn* gewonnen", "lose loses losing lost loss verlier* verlor* verlust*"),
    ("accept* annehm* angenommen", "reject* ablehn* abgelehnt"),
    ("good gut gute*", "bad"),
    ("deep* tief tiefe*", "shallow* flach*"),
    ("wide wider widest breit*", "narrow* schmal* eng enge enger"),
    ("early früh", "late lately spät"),
    ("even gerade", "odd ungerade*"),
    ("dense* dicht*", "sparse* dünn*"),
    ("static* statisch*", "dynamic* dynamisch*"),
    ("discrete* diskret*", "continuous* stetig* kontinuierlich*"),
    ("horizontal* waagerecht* waagrecht*", "vertical* vertikal* senkrecht*"),
    ("convex* konvex*", "concave* konkav*"),
    ("cheap* billig* günstig*", "expensive* costly teuer* teure*"),
    ("near nearer closer nah nahe*", "far farther further weit weite* fern*"),
    ("new newer neu neue*", "old older alt alte*"),
    ("full voll volle*", "empty leer leere*"),
    ("visible sichtbar*", "hidden verborgen* verdeckt*"),
    ("open opens opened offen*", "close closes closed geschlossen*"),
    ("active* aktiv*", "passive* passiv*"),
)
"""Sets of words that exclude one another; a star stands for any ending."""
_NUMBERS = (
    "zero null", "one eins", "two zwei", "three drei", "four vier", "five fünf", "six sechs", "seven sieben",
    "eight acht", "nine neun", "ten zehn", "eleven elf", "twelve zwölf",
)  # fmt: skip
_COUNTS = (
    "first erste*", "second zweite*", "third dritte*", "half halb* hälfte halve*", "twice double* doppelt* "
    "zweimal verdoppel*", "thrice triple* dreimal dreifach*", "quarter viertel", "once einmal",
    "hundred hundert", "thousand tausend", "million millionen", "both beide*", "single einzeln*",
)  # fmt: skip
_NUMERAL = re.compile(
    r"[ivx]{2,5}|\w*(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|teen|zig|ßig)(?:st\w*|th)?"
)
_CONTRACTED = re.compile(
    r"\w*n't|(?:ca|do|does|did|is|are|was|were|wo|would|should|could|has|have|had|must|need)nt"
    r"|(?:do|does|did|is|are|was|were|will|would|should|could|has|have|had|must|need)not"
)
_SLIPPED = (
    "not",
    "never",
    "none",
    "cannot",
    "without",
    "nicht",
    "kein",
    "keine",
    "keinen",
    "niemals",
    "ohne",
)
"""Negations that are also told where one letter is missing, doubled or exchanged with its neighbour."""
_WITHOUT = re.compile(r"\w{3,}(?:less|lessly|los|lose[mnrs]?|freie?[mnrs]?)")
_PREFIXES = tuple(
    (prefix, other)
    for words in (
        "un- in- im- ir- il- non- dis- mis- anti- de- nicht- miss- ent-",
        "en-de de-en in-ex ex-in in-out out-in in-de de-in over-under under-over up-down down-up pre-post",
        "post-pre inter-intra intra-inter ein-aus aus-ein auf-ab ab-auf zu-ab ab-zu an-ab ab-an vor-nach",
        "nach-vor über-unter unter-über ober-unter unter-ober hin-her her-hin hinein-hinaus hinaus-hinein",
    )
    for pair in words.split()
    for prefix, _, other in (pair.partition("-"),)
)
"""A beginning that turns a word round, and what stands in its place in the opposite word."""
_LEAST_STEM, _STEM = 4, 5
"""Letters after a prefix that make a word known: its ending may differ."""
_LONGEST_PREFIX = max(len(prefix) for prefix, _ in _PREFIXES)
_SMALL = prose.SMALL | set(
    re.findall(
        r"\w+", "a i ab ah am du eg er ev go he hi ie im in me my oh ok ne uh us vs zb she why try was war"
    )
)
"""Words that say nothing by themselves, nor by where they stand."""
_VOWELS = frozenset("aeiouyäöüàáâèéêìíîòóôùúû")
_LONGEST_NAME = 5
"""Letters of an abbreviation; longer words without a vowel are slips."""
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|\w+(?:'\w+)*|\S")
_THOUSANDS = re.compile(r"\d+[.,]\d{3}")
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ´`′＇", "'"))
_BULLET = re.compile(r"^[ \t]*[-*+•>#]+[ \t]+(?=[^\W\d_]{2})", re.MULTILINE)
_BRACKETS = frozenset("()[]{}")
_HYPHEN, _FACTORIAL, _COMMAND = "-", "!", "\\"
_NEAR = 30
"""Words behind one another whose order is looked at."""


def _table(sets: Sequence[Sequence[str]]) -> tuple[dict[str, str], re.Pattern[str], dict[str, str]]:
    """Whole words, a pattern of beginnings, and what both stand for."""
    whole: dict[str, str] = {}
    begun: dict[str, str] = {}
    for number, several in enumerate(sets):
        for place, words in enumerate(several):
            for word in words.split():
                (begun if word.endswith("*") else whole)[word.rstrip("*")] = f"{number}{chr(97 + place)}"
    longest_first = sorted(begun, key=len, reverse=True)
    return whole, re.compile("|".join(map(re.escape, longest_first))), begun


_WHOLE, _BEGINNING, _BEGUN = _table((*_OPPOSITES, _COUNTS))
_DENIED = {
    slip: _WHOLE["not"]
    for word in _SLIPPED
    for at in range(len(word))
    for slip in (
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
        word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :],
    )
    if slip not in _WHOLE and slip not in prose.SMALL
}
_DIGITS = {word: str(number) for number, words in enumerate(_NUMBERS) for word in words.split()}


class ClassWords:
    """The words of all answers of a class, which tell where a prefix turns a word round."""

    __slots__ = ("_beginnings", "_known")

    def __init__(self, forms: Collection[str]) -> None:
        """Take the words.

        Args:
            forms: of all answers (`form`).
        """
        words = {word for form in forms for word in _TOKEN.findall(form)}
        lengths = range(_LEAST_STEM, _STEM + _LONGEST_PREFIX + 1)
        self._beginnings = {word[:length] for word in words for length in lengths if len(word) >= length}
        self._known: dict[str, str] = {}

    def meaning(self, word: str) -> str:
        """What a word decides, the same for words of one meaning; empty where it decides nothing."""
        known = self._known.get(word)
        if known is None:
            known = self._known[word] = self._meaning(word)
        return known

    def _meaning(self, word: str) -> str:
        told = _DIGITS.get(word) or _WHOLE.get(word) or _DENIED.get(word)
        if told:
            return told
        if _WITHOUT.fullmatch(word):
            return word
        begun = _BEGINNING.match(word)
        if begun:
            return _BEGUN[begun.group()]
        if _CONTRACTED.fullmatch(word):
            return _WHOLE["not"]
        if word in _SMALL:
            return ""
        turned = self._turned(word)
        if turned:
            return turned
        return word if _is_name(word) or _NUMERAL.fullmatch(word) else ""

    def _turned(self, word: str) -> str:
        """The word's beginning where the class also wrote its opposite; else empty."""
        for prefix, other in _PREFIXES:
            stem = word[len(prefix) : len(prefix) + _STEM]
            if word.startswith(prefix) and len(stem) >= _LEAST_STEM and other + stem in self._beginnings:
                return prefix + stem
        return ""


def form(text: str) -> str:
    """A text without differences that mean nothing (`prose.same_form`), nor marks of a list."""
    return prose.same_form(_BULLET.sub("", text.translate(_APOSTROPHES)))


class Telling:
    """What an answer says beside its words.

    Attributes:
        decisive: negations, numbers, directions and signs, in the order they stand; answers that differ here
            say different things.
        order: which word stands before which, for words up to so many apart. Answers in which two words are
            turned round may say different things: ``a is part of b``.
    """

    __slots__ = ("_words", "decisive")

    def __init__(self, form: str, words: ClassWords) -> None:
        """Read an answer.

        Args:
            form: of the answer (`form`).
            words: of the class.
        """
        self.decisive: tuple[str, ...]
        self._words: tuple[str, ...]
        told = list(_told(form, words))
        self.decisive = tuple(meaning for meaning, _ in told if meaning)
        counted: Counter[str] = Counter()
        numbered = []
        for meaning, word in told:
            if meaning or word not in _SMALL:
                counted[meaning or word] += 1
                numbered.append(f"{meaning or word} {counted[meaning or word]}")
        self._words = tuple(numbered)

    @property
    def order(self) -> set[tuple[str, str]]:
        """Pairs of words, the one that stands first before the other; the same word again is another one."""
        return {
            (word, later)
            for place, word in enumerate(self._words)
            for later in self._words[place + 1 : place + 1 + _NEAR]
        }


def _told(form: str, words: ClassWords) -> Iterator[tuple[str, str]]:
    """Every word and sign that counts: what it decides, or nothing, and the word."""
    found = list(_TOKEN.finditer(form))
    meanings = [_sign_or_word(match, form, words) for match in found]
    for at, match in enumerate(found):
        token = match.group()
        if token in _BRACKETS:  # around words they are style
            beside = meanings[max(0, at - 1) : at] + meanings[at + 1 : at + 2]
            if any(_is_formula(one) for one in beside):
                yield token, token
        elif meanings[at] or token[0].isalnum():
            yield meanings[at], token


def _sign_or_word(match: re.Match[str], form: str, words: ClassWords) -> str:
    token = match.group()
    if token[0].isdigit():
        return token if _THOUSANDS.fullmatch(token) else token.replace(",", ".")
    if token[0].isalnum() or token[0] == "_":
        function = (
            form[match.start() - 1 : match.start()] == _COMMAND or form[match.end() : match.end() + 1] == "("
        )
        return words.meaning(token) or (token if function else "")
    if token in _BRACKETS or (token in prose.SENTENCE_MARKS and token != _FACTORIAL):
        return ""
    if token != _HYPHEN:
        return token
    inside = form[max(0, match.start() - 2) : match.start()] + form[match.end() : match.end() + 2]
    return "" if len(inside) == 4 and inside.isalpha() else token


def _is_formula(meaning: str) -> bool:
    return meaning != "" and meaning not in _MEANINGS


_MEANINGS = frozenset(_WHOLE.values()) | frozenset(_BEGUN.values())


def _is_name(word: str) -> bool:
    """Whether a word is rather a name of a formula or an abbreviation than a word of a sentence."""
    if len(word) <= 2 or "_" in word or any(char.isnumeric() for char in word):
        return True
    if not word.isascii() and any(
        char.isalpha() and not unicodedata.name(char, "").startswith("LATIN") for char in word
    ):
        return True
    return len(word) <= _LONGEST_NAME and not _VOWELS & set(word)
