"""Code is shown line by line: highlighted, escaped, and compared with the released starter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from autograder.pages.feedback.code import MOST_COLOURED, Line, build_code_lines, fold_code_blocks
from autograder.pages.feedback.sanitise import to_printable_text

STARTER = 'def scale(x, d):\n    """Scale the scores."""\n    return x / d\n\n\ny = scale(2, 4)'


def shown(lines: tuple[Line, ...]) -> list[str]:
    """Return sign and text of each line."""
    return [f"{line.sign or ' '}{line.code.striptags() if line.code.strip() else ''}" for line in lines]


def test_what_is_new_and_what_is_gone() -> None:
    """A changed line is shown as a removed and an added line; other lines are unchanged."""
    lines = build_code_lines(STARTER.replace("x / d", "x / d ** 0.5"), STARTER)
    assert ["-return x / d", "+return x / d ** 0.5"] == [text for text in shown(lines) if text[0] != " "]
    assert 7 == len(lines)


@pytest.mark.parametrize("starter", [None, "", "# YOUR CODE HERE\nraise NotImplementedError", "\n\n"])
def test_an_answer_of_its_own_has_no_signs(starter: str | None) -> None:
    """If no line of a starter remains, lines have no signs."""
    assert {""} == {line.sign for line in build_code_lines("a = 1\n\nb = 2", starter)}


def test_code_is_coloured() -> None:
    """Keywords, defined names, numbers, strings and comments are highlighted; nothing else is."""
    (line,) = build_code_lines("def f(x): return 1 if x else 'no'  # why")
    assert (
        '<span class="k">def</span> <span class="f">f</span>(x): <span class="k">return</span> '
        '<span class="m">1</span> <span class="k">if</span> x <span class="k">else</span> '
        '<span class="s">&#39;no&#39;</span>  <span class="c"># why</span>'
    ) == line.code


def test_a_text_over_several_lines_is_coloured_in_each() -> None:
    """Each line of a multi-line string is complete markup."""
    lines = build_code_lines('x = """one\ntwo"""')
    assert ['x = <span class="s">&#34;&#34;&#34;one</span>', '<span class="s">two&#34;&#34;&#34;</span>'] == [
        line.code for line in lines
    ]


@given(st.text(st.characters(codec="utf-8"), max_size=80), st.text(max_size=40))
def test_nothing_is_lost_and_nothing_becomes_markup(text: str, starter: str) -> None:
    """Without highlighting, each line is the original text, and it contains only our own tags."""
    text = to_printable_text(text)
    unremoved = [line for line in build_code_lines(text, starter) if line.sign != "-"]
    plain = [str(line.code).replace("</span>", "") for line in unremoved]
    for name in "ksmcf":
        plain = [line.replace(f'<span class="{name}">', "") for line in plain]
    assert not any("<" in line for line in plain)
    kept = [line if line.strip() else "" for line in text.splitlines()]
    assert kept == [one if (one := Markup(line).unescape()).strip() else "" for line in plain]


def test_lines_far_from_a_change_are_folded() -> None:
    """Three lines of context remain; fewer than five further lines are not folded."""
    starter = "\n".join(f"line_{number} = {number}" for number in range(40))
    blocks = fold_code_blocks(build_code_lines(starter.replace("= 20", "= 21"), starter))
    assert [(17, True), (8, False), (16, True)] == [(len(block.lines), block.folded) for block in blocks]
    near = fold_code_blocks(build_code_lines(starter.replace("= 7\n", "= 21\n"), starter))
    assert [(12, False), (29, True)] == [(len(block.lines), block.folded) for block in near]
    assert [(40, False)] == [
        (len(block.lines), block.folded) for block in fold_code_blocks(build_code_lines(starter))
    ]
    assert () == fold_code_blocks(build_code_lines(""))


@pytest.mark.parametrize("text", [" \n", "a.b.", "'{", "@", "(", "match x:\n", "\n", '"""', "as "])
def test_hostile_code_is_shown_line_by_line(text: str) -> None:
    """Hostile code of the maximum length has one line for each source line, with a starter too."""
    source = (text * MOST_COLOURED)[:MOST_COLOURED]
    unremoved = [line for line in build_code_lines(source, "a.b\n" * 100) if line.sign != "-"]
    assert len(unremoved) == len(source.splitlines())


def test_more_than_is_coloured_is_shown_as_it_is() -> None:
    """Longer code is escaped but not highlighted."""
    lines = build_code_lines("x = '<'\n" * MOST_COLOURED)
    assert {"x = &#39;&lt;&#39;"} == {line.code for line in lines}
