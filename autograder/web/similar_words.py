"""Sentences of the page of works that are alike."""

from __future__ import annotations

from collections.abc import Mapping

SIMILAR: Mapping[str, str | tuple[str, str]] = {
    "web.similar": "Works that are alike",
    "web.similar-told": "This is a place to look, and never a verdict. The pairs stand in order, and "
    "some pair always stands first: a number here says how alike two works are in what is special about "
    "them, and not why. Students who learn together, follow the same book, or find the only way there is "
    "are alike as well. Read both works, and talk to the people.",
    "web.similar-never": "The works were not compared yet.",
    "web.similar-busy": "The works are being compared. Load the page again in a while.",
    "web.similar-made": (
        "{number} work was compared on {moment}.",
        "{number} works were compared on {moment}.",
    ),
    "web.similar-older": "Since then something was handed in, or graded again.",
    "web.similar-problem": "The works could not be compared: {reason}",
    "web.similar-compare": "Compare the works",
    "web.similar-names": "Show names",
    "web.similar-no-names": "Hide names",
    "web.similar-anonymous": "Students stand without names; what in their works tells who wrote them is "
    "not known here.",
    "web.similar-remarks": "Not, or not wholly compared",
    "web.similar-pairs": "Pairs",
    "web.similar-none": "No two works are more alike than each is with several others.",
    "web.similar-place": "Place",
    "web.similar-one": "One",
    "web.similar-other": "Other",
    "web.similar-out": "Stands out",
    "web.similar-same": "Same",
    "web.similar-most": "Most in",
    "web.similar-words": "Words hardly anybody else has",
    "web.similar-all": "everything",
    "web.similar-code": "all code",
    "web.similar-text": "all texts",
    "web.similar-pairs-told": "What was handed out is taken away first. Names, comments, layout, texts "
    "in code and the order of statements and functions do not count, and what many have weighs little. "
    "“Same” is how much of the smaller work stands in the other as well, in the part named first; a "
    "short part stays low even where all of it is equal. Pairs are ordered by how far that goes beyond "
    "what is usual for both: works that are near to many others, because they go by the book, do not "
    "stand out.",
    "web.similar-others": "Answers that fit somebody else's variant",
    "web.similar-beside": "Beside each other",
    "web.similar-beside-told": "The same number marks the same statement on both sides, also where it "
    "was renamed or stands elsewhere.",
    "web.similar-common": "Grey is what many of the class have.",
    "web.similar-two": "{one} and {other}",
    "web.similar-by": "stands out by {out} %, {same} % the same",
    "web.similar-page-of": "Feedback of {who}",
    "web.log-compare": "works compared",
}
