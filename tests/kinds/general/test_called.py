"""Which earlier functions a question may carry forward."""

from __future__ import annotations

import pytest

from autograder.errors import RubricError
from autograder.kinds import make_check
from autograder.rubric import parse
from tests.support.calling_course import RUBRIC


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('["weights"]', '["weihgts"]'), "'weihgts' is no question before this one.*did you mean 'weights'"),
        (('["weights"]', '["twice"]'), "'twice' is no question before this one"),
        (('["weights"]', '["attend"]'), "'attend' is no question before this one"),
        (
            ('reference = "calling:weights"\n', ""),
            "'weights': expected a question with cases.*and a reference",
        ),
    ],
)
def test_only_functions_before_are_carried_forward(change: tuple[str, str], said: str) -> None:
    """Of the same notebook, with something that computes right results."""
    text = RUBRIC.replace(*change)
    if "reference" in change[0]:
        text = text.replace("shape = [3, 5] }]", "shape = [3, 5] }]\nvalue = 3", 1)
    rubric = parse(text.encode())
    with pytest.raises(RubricError, match=f"'attend': carry_forward: {said}"):
        make_check(rubric.question("attend"), rubric)
