"""The documentation site builds without warnings, loads no external resources, and is searchable."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site's folder, built as in ``make docs``."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--nitpicky"]
    arguments = ["-d", str(folder / "doctrees"), str(DOCS), str(folder / "html")]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert (0, "") == (done.returncode, done.stderr)
    return folder / "html"


def find_pages(site: Path, query: str) -> list[str]:
    """Search as the site does: pages with every word, those with most of them in headings first."""
    index = json.loads(
        (site / "searchindex.js").read_text("utf-8").removeprefix("Search.setIndex(").rstrip(")\n")
    )
    language = runpy.run_path(str(DOCS / "conf.py"))["QuestionSearch"]({})
    words = [
        language.stem(word) for word in re.findall(r"\w+", query.lower()) if word not in language.stopwords
    ]

    def list_documents(table: str, word: str) -> set[int]:
        documents = index[table].get(word, [])
        return {documents} if isinstance(documents, int) else set(documents)

    headings = [list_documents("titleterms", word) for word in words]
    pages = [
        list_documents("terms", word) | in_headings for word, in_headings in zip(words, headings, strict=True)
    ]
    ranked = sorted(
        set.intersection(*pages), key=lambda page: (-sum(page in found for found in headings), page)
    )
    return [index["docnames"][page] for page in ranked]


@pytest.mark.parametrize(
    ("query", "page"),
    [
        pytest.param("late penalty", "deadlines", id="instructor"),
        pytest.param("hide the solutions from students", "release", id="instructor hides solutions"),
        pytest.param("resubmit", "students", id="student"),
        pytest.param("lost internet during exam", "students", id="student offline"),
        pytest.param("why did I get zero", "students", id="student without points"),
        pytest.param("Abgabefrist", "de/students", id="student in German"),
        pytest.param("regrade request", "marking", id="teaching assistant"),
        pytest.param("split marking between TAs", "marking", id="teaching assistants"),
        pytest.param("anonymous grading", "marking", id="teaching assistant of strangers"),
        pytest.param("change a mark", "marking", id="teaching assistant who erred"),
        pytest.param("hardware requirements", "operators", id="operator who buys"),
        pytest.param("restore backup", "service", id="operator"),
        pytest.param("how long are submissions kept", "data-protection", id="operator asked by a student"),
        pytest.param("add a kind of question", "extending", id="contributor"),
        pytest.param("new question type", "extending", id="contributor from elsewhere"),
        pytest.param("unreadable.two-numbers", "messages", id="message"),
    ],
)
def test_search_leads_to_the_page(site: Path, query: str, page: str) -> None:
    """Usual queries find the right page among the first three results."""
    assert page in find_pages(site, query)[:3]


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    """The site works offline: it contains all scripts, styles, fonts and images."""
    loaded = re.compile(
        r"<(?:script|img|link|iframe)[^>]*?(?:src|href)=\"(?:https?:)?//[^\"]*|url\([\"']?https?:[^)]*"
    )
    files = [path for path in site.rglob("*") if path.suffix in {".html", ".css"}]
    assert [] == [
        (path.name, address) for path in files for address in loaded.findall(path.read_text("utf-8"))
    ]
    assert len(files) > 40


def test_translated_page_states_its_language(site: Path) -> None:
    """The German page states its language for screen readers."""
    assert 'lang="de"' in (site / "de/students.html").read_text("utf-8")
    assert 'lang="en"' in (site / "students.html").read_text("utf-8")
