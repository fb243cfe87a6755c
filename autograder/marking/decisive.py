"""What an answer says, word for word, without what adds nothing: small words, endings, slips of the pen.

Two answers that share all other words may still differ in the one that makes one of them wrong. So nothing
here weighs: every word counts unless it is on a closed list of words that add nothing, in English or German,
and two words are one only where they differ in an inflection, a notation, or a slip that a single answer has.
What is told apart though it means the same costs a look; what is taken for the same costs a mark.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator

from autograder.checks.values import prose


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALIKE = (
    "not no nope cannot nicht nein nee kein keine keinen keinem keiner keines",
    "because since due weil denn wegen aufgrund da",
    "therefore thus hence daher deshalb deswegen folglich",
    "all every each alle aller allen alles jede jeder jedes jedem jeden",
    "if when whenever wenn falls sofern",
)
"""Decisive words of one meaning."""
_ALONE = _listed(
    "never none nothing nobody nowhere nor neither non without unless hardly barely except instead false "
    "wrong incorrect nichts nie niemals niemand weder ohne kaum ausser falsch sondern statt anstatt yes "
    "true correct ja doch stimmt richtig only nur ausschliesslich some sometimes einige manche always "
    "immer stets often oft rarely selten usually more most much many any mehr meist less fewer few least "
    "wenig weniger before after vor nach bevor nachdem later earlier vorher nachher danach from into by "
    "durch vom aus zum zur out up down off ab ueber unter other same or oder both beide must muss may "
    "darf almost nearly fast than first second third erste zweite dritte half halb once einmal twice "
    "doppelt thrice hundred hundert thousand tausend million milliarde billion single negative negativ "
    "negativen negatives positive positiv positiven"
)
"""Decisive words that no other one stands for. They may be small, and still no answer has one more."""
_NUMBERS = (
    "zero null", "one eins", "two zwei", "three drei", "four vier", "five fuenf", "six sechs", "seven sieben",
    "eight acht", "nine neun", "ten zehn", "eleven elf", "twelve zwoelf",
)  # fmt: skip
_NUMERAL = re.compile(
    r"[ivx]{2,5}|\w*(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|teen|zig|dreissig)(?:st\w*|th)?"
)
_CONTRACTED = re.compile(
    r"\w*n't|(?:ca|do|does|did|is|are|was|were|wo|would|should|could|has|have|had|must|need)nt"
    r"|(?:do|does|did|is|are|was|were|will|would|should|could|has|have|had|must|need)not"
)
_SLIPPED = _listed("not never none cannot without nicht kein keine keinen niemals ohne")
"""Negations that are also told where one letter is missing, doubled or exchanged with its neighbour."""
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_FILLERS = _listed(
    "dabei eigentlich also basically here actually again simply indeed course think einfach natuerlich "
    "wohl halt eben gar hingegen jedoch however nochmal nochmals wieder somit hierbei hierzu dazu during "
    "waehrend whereas approx circa ca roughly ungefaehr etwa seinen seinem seiner seines ihren ihrem "
    "ihrer ihres dessen deren derer jener worden wurden waren hatte hatten teh hte adn udn dei eien our "
    "my your me doing done"
)
_SMALL = _FILLERS | {
    word.translate(_UMLAUTS)
    for word in prose.SMALL
    | _listed("a i ab ah am du eg er ev go he hi ie im in me my oh ok ne uh us vs zb she why try was war")
}
"""Words that say nothing by themselves, nor by where they stand, unless they are decisive."""
_VOWELS = frozenset("aeiouyàáâèéêìíîòóôùúû")
_LONGEST_NAME = 5
"""Letters of an abbreviation; longer words without a vowel are slips."""
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|\w+(?:'\w+)*|\S")
_THOUSANDS = re.compile(r"\d+[.,]\d{3}")
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ´`′＇", "'"))
_BULLET = re.compile(r"^[ \t]*[-*+•>#]+[ \t]+(?=[^\W\d_]{2})", re.MULTILINE)
_BRACKETS = frozenset("()[]{}")
_HYPHEN, _FACTORIAL, _COMMAND = "-", "!", "\\"

# ---------------------------------------------------------------- notations and endings

_SIGNS = _UMLAUTS | str.maketrans(dict.fromkeys("·×⋅∙∗", "*"))
_NOTATIONS = tuple(
    (re.compile(pattern), one)
    for pattern, one in (
        (r"\\?\b(?:unendlich|infinity|infty|inf)\b", "∞"),
        (r"\bminus (?=[\d∞])", "-"),
        (r"(?<=\d) ?x ?(?=\d)", "*"),
        (r"(?<=\d) ?(?:m|mio|million(?:s|en)?)\b", " million"),
        (r"\b(?:mrd|milliarden)\b", "milliarde"),
        (r"\bparams?\b", "parameter"),
        (r"\bdims?\b", "dimension"),
        (r"\b(sum(?:s|med|ming)?) up(?= to\b)", r"\1"),
        (r"(?<=[a-z]{3})is(?=(?:e[drs]?|ing|ers|ations?)\b)", "iz"),
    )
)
_GROUPED = re.compile(r"(?<![\d.,'])\d{1,3}(?:([,.'])\d{3})(?:\1\d{3})+(?![.,']?\d)")
"""A number with two thousands separators or more; with one it may be a decimal."""
_ENDING = re.compile(r"(?<=\w{4})e[nms]?$|(?<=e[rl])n$|(?<=\w{3}e)n$|(?<=\w{2}[^suia])s$")
"""Of plurals, cases and persons; what is left has three letters or more. None makes a verb a participle."""


def form(text: str) -> str:
    """A text without differences that mean nothing (`prose.same_form`), nor marks of a list."""
    return prose.same_form(_BULLET.sub("", text.translate(_APOSTROPHES)))


def _spelled(form: str) -> str:
    """A form in which umlauts, signs, numbers and units are written in one way."""
    text = form.translate(_SIGNS)
    for pattern, one in _NOTATIONS:
        text = pattern.sub(one, text)
    return _GROUPED.sub(lambda match: re.sub(r"\D", "", match.group()), text)


def _stem(word: str) -> str:
    """A word without its endings of inflection."""
    stem = word[:-3] + "y" if len(word) > 5 and word.endswith("ies") else word
    while (shorter := _ENDING.sub("", stem)) != stem:
        stem = shorter
    return stem


# ---------------------------------------------------------------- decisive words

_NEGATION = "not"
_DECISIVE = {word: words.split()[0] for words in _ALIKE for word in words.split()} | {
    word: word for word in _ALONE
}
_DIGITS = {word: str(number) for number, words in enumerate(_NUMBERS) for word in words.split()}
_DENIED = {
    slip: _DECISIVE[word]
    for word in sorted(_SLIPPED)
    for at in range(len(word))
    for slip in (
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
        word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :],
    )
    if slip not in _DECISIVE and slip not in _SMALL
}


def _meaning(word: str) -> str:
    """What a word decides, the same for words of one meaning; empty where it is like any other word."""
    told = _DIGITS.get(word) or _DECISIVE.get(word) or _DENIED.get(word)
    if told:
        return told
    if _CONTRACTED.fullmatch(word):
        return _NEGATION
    return word if word not in _SMALL and (_is_name(word) or _NUMERAL.fullmatch(word)) else ""


# ---------------------------------------------------------------- slips of the pen

_SHORTEST, _OMITTED, _LONG, _LONGEST = 5, 6, 9, 40
"""Letters of a word with two exchanged, with one missing, with two slips, and at most."""
_CONFUSED = frozenset({"ae", "ea", "sz", "zs", "dt", "td"})
"""Letters written for one another; others make other words (score, store), and so they do in short ones."""
_LEAST_CONFUSED = 8
_MOST_WORDS = 20_000
"""Of a class, whose slips are looked for."""
_MOST_ALIKE = 100
"""Words that differ in one letter and are compared; among more, none is told to be a slip."""
_DOUBLED = re.compile(r"(.)\1+")


def _is_slip(one: str, other: str) -> bool:
    """Whether words differ in a doubled letter, two exchanged, one left out within, or one confused.

    From nine letters on, in a doubled letter and one of the others.
    """
    short, long = sorted((one, other), key=len)
    if len(short) < _SHORTEST or short[0] != long[0] or len(long) > len(short) + 2:
        return False
    single, also = _DOUBLED.sub(r"\1", short), _DOUBLED.sub(r"\1", long)
    if single == also:
        return True
    if len(short) >= _LONG:
        short, long = sorted((single, also), key=len)
    apart = [at for at, (mine, yours) in enumerate(zip(short, long, strict=False)) if mine != yours]
    if len(short) == len(long):
        first, last = apart[0], apart[-1]
        if first == last:
            return len(short) >= _LEAST_CONFUSED and short[first] + long[first] in _CONFUSED
        return last == first + 1 and short[first] == long[last] and short[last] == long[first]
    if len(short) < _OMITTED or len(long) > len(short) + 1 or not apart:
        return False
    return short[apart[0] :] == long[apart[0] + 1 :]


class ClassWords:
    """The words of all answers of a class, which tell what is a slip of the pen and what is one word."""

    __slots__ = ("_alike", "_words")

    def __init__(self, forms: Collection[str]) -> None:
        """Take the words.

        Args:
            forms: of all answers (`form`), each once.
        """
        where: dict[str, set[int]] = defaultdict(set)
        words: set[str] = set()
        for number, text in enumerate(forms):
            for word in _TOKEN.findall(_spelled(text)):
                if word.isalpha():
                    words.add(word)
                    where[_stem(word)].add(number)
        self._words = words
        self._alike: dict[str, str] = {}
        self._find_slips({word for word in words if _SHORTEST <= len(word) <= _LONGEST}, where)

    def _find_slips(self, words: set[str], where: dict[str, set[int]]) -> None:
        """Which rare spelling stands for which word: one that several answers have, or the only other one."""
        if len(words) > _MOST_WORDS:
            return
        listed = {word for word in _SMALL | _DECISIVE.keys() if len(word) >= _SHORTEST}
        rare = {word for word in words - listed if len(where[_stem(word)]) == 1 and not _meaning(word)}
        near = _near_words(words | listed, rare)
        known = {word: near[word] - rare for word in near}
        for word in near:
            others = known[word] or near[word]
            stems = {_stem(other) for other in others} - {_stem(word)}
            if len(stems) != 1:
                continue
            other = min(one for one in others if _stem(one) in stems)
            if known[word]:
                self._alike[word] = other
                continue
            alone = not known[other] and {_stem(one) for one in near[other]} == {_stem(word)}
            # One student who writes both means two words.
            if alone and where[_stem(word)] != where[_stem(other)]:
                self._alike[word] = min(word, other)

    def told(self, word: str) -> str:
        """The word that a slip stands for; any other word itself."""
        return self._alike.get(word, word)

    def one(self, first: str, second: str) -> bool:
        """Whether the class also writes two words that follow one another as one."""
        return first + second in self._words


def _near_words(words: set[str], rare: set[str]) -> dict[str, set[str]]:
    """Rare words, and those that they may be slips of."""
    alike: dict[str, set[str]] = defaultdict(set)
    for word in words:
        single = _DOUBLED.sub(r"\1", word)
        for at in range(len(single)):
            alike[single[:at] + single[at + 1 :] if at else single].add(word)
    near: dict[str, set[str]] = defaultdict(set)
    for several in alike.values():
        for word in several & rare if len(several) <= _MOST_ALIKE else ():
            near[word] |= {other for other in several if other != word and _is_slip(word, other)}
    return {word: near[word] for word in sorted(near) if near[word]}


class Telling:
    """What an answer says.

    Attributes:
        decisive: negations, numbers, limits and signs, in the order they stand; answers that differ here say
            different things.
        said: the same, and all other words that are not small, as stems. A word said twice running counts
            once; twice apart it may be another one's place, so it counts.
    """

    __slots__ = ("decisive", "said")

    def __init__(self, form: str, words: ClassWords) -> None:
        """Read an answer.

        Args:
            form: of the answer (`form`).
            words: of the class.
        """
        self.decisive: tuple[str, ...]
        self.said: tuple[str, ...]
        told = list(_told(_spelled(form), words))
        self.decisive = tuple(meaning for meaning, _ in told if meaning)
        said: list[str] = []
        for meaning, word in told:
            # A mark keeps a decisive word from being taken for another word's stem.
            one = f"={meaning}" if meaning else _stem(word)
            if meaning or (word not in _SMALL and said[-1:] != [one]):
                said.append(one)
        self.said = tuple(said)

    def adds_to(self, other: Telling) -> bool:
        """Whether this says all that another answer says, in its order, and perhaps more words."""
        rest = iter(self.said)
        return all(one in rest for one in other.said)


def _told(form: str, words: ClassWords) -> Iterator[tuple[str, str]]:
    """Every word and sign that counts: what it decides, or nothing, and the word."""
    found = list(_TOKEN.finditer(form))
    tokens = _joined(found, form, words)
    meanings = [meaning for meaning, _ in tokens]
    for at, (meaning, token) in enumerate(tokens):
        if token in _BRACKETS:  # around words they are style
            beside = meanings[max(0, at - 1) : at] + meanings[at + 1 : at + 2]
            if any(_is_formula(one) for one in beside):
                yield token, token
        elif meaning or token[:1].isalnum():
            yield meaning, token


def _joined(found: list[re.Match[str]], form: str, words: ClassWords) -> list[tuple[str, str]]:
    """What each token decides, and the token; parts of a word that the class also writes as one are one."""
    tokens: list[tuple[str, str]] = []
    at = 0
    while at < len(found):
        match = found[at]
        token = match.group()
        for step in (2, 1):  # with a hyphen between, and with a space
            if not token.isalpha() or at + step >= len(found):
                continue
            last = found[at + step]
            hyphen = step == 2 and form[match.end() : last.start()] == _HYPHEN
            if not (last.group().isalpha() and (hyphen or step == 1) and words.one(token, last.group())):
                continue
            if hyphen or not (_counts_alone(token) or _counts_alone(last.group())):
                token += last.group()
                at += step
                break
        else:
            told = words.told(token) if token.isalpha() else token
            tokens.append((_sign_or_word(match, form, told), told))
            at += 1
            continue
        tokens.append((_meaning(token), token))
        at += 1
    return tokens


def _counts_alone(word: str) -> bool:
    """Whether a word is no part of another one."""
    return len(word) <= 2 or word in _SMALL or _meaning(word) != ""


def _sign_or_word(match: re.Match[str], form: str, token: str) -> str:
    if token[0].isdigit():
        return token if _THOUSANDS.fullmatch(token) else token.replace(",", ".")
    if token[0].isalnum() or token[0] == "_":
        function = (
            form[match.start() - 1 : match.start()] == _COMMAND or form[match.end() : match.end() + 1] == "("
        )
        return _meaning(token) or (token if function else "")
    if token in _BRACKETS or (token in prose.SENTENCE_MARKS and token != _FACTORIAL):
        return ""
    return "" if token == _HYPHEN and _binds(match, form) else token


def _binds(hyphen: re.Match[str], form: str) -> bool:
    """Whether a hyphen stands between parts of a word, such as ``top-k``, and not between symbols."""
    before, after = form[: hyphen.start()][-3:], form[hyphen.end() :][:3]
    return (
        (before.isalpha() and after[:1].isalpha() and len(before) == 3)
        or (len(form[hyphen.end() : hyphen.end() + 2]) == 2 and before[-2:].isalpha() and after[:2].isalpha())
        or (after.isalpha() and len(after) == 3 and before[-1:].isalpha())
    )


def _is_formula(meaning: str) -> bool:
    return meaning != "" and meaning not in _MEANINGS


_MEANINGS = frozenset(_DECISIVE.values())


def _is_name(word: str) -> bool:
    """Whether a word is rather a name of a formula or an abbreviation than a word of a sentence."""
    if len(word) <= 2 or "_" in word or any(char.isnumeric() for char in word):
        return True
    if not word.isascii() and any(
        char.isalpha() and not unicodedata.name(char, "").startswith("LATIN") for char in word
    ):
        return True
    return len(word) <= _LONGEST_NAME and not _VOWELS & set(word)
