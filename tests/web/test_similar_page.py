"""Similar submissions: compared by a worker on request, and shown as pseudonyms without a verdict."""

from __future__ import annotations

from contextlib import closing

from autograder.app.class_statistics import make_pseudonym
from autograder.service.assignment_cache import AssignmentCache
from tests.service import course
from tests.web.people import Small
from tests.web.test_staff import entries
from tests.web.test_student import text

COPIED = """import numpy as np
def softmax(scores):
    moved = scores - scores.max(axis=-1, keepdims=True)
    powers = np.exp(moved)
    if not np.isfinite(powers).all():
        raise ValueError("<b>infinite</b>")
    return powers / powers.sum(axis=-1, keepdims=True)
"""
RENAMED = COPIED.replace("moved", "a").replace("powers", "b").replace("scores", "c")
OTHERS = (
    "import numpy as np\ndef softmax(x):\n    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)\n",
    "import math\ndef softmax(x):\n    return [math.exp(v) for v in x]\n",
    "def softmax(x):\n    total = 0\n    for v in x:\n        total += v\n    return total\n",
    "def softmax(x):\n    while x:\n        x = x[1:]\n    return x\n",
)


def place(at: Small) -> str:
    """Return the address of the page."""
    return f"{at.base}staff/a/{at.offer.assignment}/similar/"


def class_of(at: Small) -> None:
    """Submit the same code, with renamed variables, for ada and bob, and different code for four others."""
    works = {"ada": COPIED, "bob": RENAMED, **dict(zip(("cem", "dia", "eva", "fay"), OTHERS, strict=True))}
    for student, source in works.items():
        course.handed_in(at.offer, student, course.answered(at.folder, softmax_answer=source))


def compared(at: Small) -> None:
    """Run the comparison as a worker does."""
    from autograder.service import similarity

    with closing(AssignmentCache()) as loaded:
        similarity.compare_class(at.offer.pk, loaded)


def test_pairs_stand_in_order_and_without_names(at: Small) -> None:
    """The most similar pair comes first, with both texts; names are shown only on request."""
    class_of(at)
    client = at.client("ta")
    assert "have not been compared yet" in text(client.get(place(at)))
    content = text(client.post(place(at), follow=True))
    assert "are being compared" in content
    compared(at)
    page = text(client.get(place(at)))
    assert "6 submissions were compared on" in page
    assert "never a verdict" in page
    assert "are being compared" not in page
    first, second = (
        make_pseudonym(bytes(at.record.secret), at.offer.assignment, who) for who in ("ada", "bob")
    )
    assert page.index(f"{first} and {second}") < page.index('<span class="soft">excess similarity')
    assert "of/ada/" not in page
    assert "<b>infinite" not in page
    assert "&lt;b&gt;infinite" in page
    assert '<mark class="c' in page
    named = text(client.get(f"{place(at)}?names=yes"))
    assert "ada and bob" in named
    assert "of/ada/" in named
    assert ("compare", None, None) in entries(at)


def test_what_is_newer_than_the_comparison_is_told(at: Small) -> None:
    """The page reports newer submissions and failures, and keeps the last result."""
    from autograder.service import similarity
    from autograder.service.models_results import Comparison

    class_of(at)
    client = at.client("ta")
    client.post(place(at))
    compared(at)
    course.handed_in(at.offer, "gus", course.released(at.folder))
    assert "Since then, something was submitted" in text(client.get(place(at)))
    client.post(place(at))

    class Broken(AssignmentCache):
        def load_assignment(self, version: object) -> object:
            raise OSError("the disk is full")

    with closing(Broken()) as loaded:
        similarity.compare_class(at.offer.pk, loaded)
    page = text(client.get(place(at)))
    assert "could not be compared: " in page
    assert "the disk is full" in page
    assert "6 submissions were compared" in page
    Comparison.objects.filter(offer=at.offer).update(pairs={"of": "an older program"})
    assert "have not been compared yet" in text(client.get(place(at)))


def test_who_was_not_compared_is_told_without_a_name_too(at: Small) -> None:
    """Unreadable submissions are listed, with a name only on request."""
    class_of(at)
    course.handed_in(at.offer, "gus", dict.fromkeys(course.released(at.folder), b"{"))
    client = at.client("ta")
    client.post(place(at))
    compared(at)
    page, named = (text(client.get(f"{place(at)}{query}")) for query in ("", "?names=yes"))
    unread = make_pseudonym(bytes(at.record.secret), at.offer.assignment, "gus")
    assert f"{unread}: " in page
    assert "gus" not in page
    assert "gus: " in named


def test_a_group_is_compared_once(at: Small) -> None:
    """The members' shared submission is compared once."""
    at.offer.groups = {"red": ["ada", "bob"]}
    at.offer.save()
    course.handed_in(at.offer, "ada", course.answered(at.folder, softmax_answer=COPIED))
    course.handed_in(at.offer, "zoe", course.answered(at.folder, softmax_answer=OTHERS[0]))
    client = at.client("ta")
    client.post(place(at))
    compared(at)
    page = text(client.get(f"{place(at)}?names=yes"))
    assert "2 submissions were compared" in page
    assert "bob" not in page


def test_the_page_is_german_too(at: Small) -> None:
    """The page is also available in German."""
    client = at.client("ta")
    client.cookies["django_language"] = "de"
    page = text(client.get(place(at)))
    assert "Ähnlichkeit" in page
    assert "Die Abgaben wurden noch nicht verglichen." in page
