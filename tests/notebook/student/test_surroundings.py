"""Code that runs on a student's computer but fails during grading is reported before submission."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from autograder.notebook.document import parse_notebook
from autograder.notebook.student.report import PROBLEM
from autograder.notebook.student.saved_notebook import report_on
from autograder.notebook.student.surroundings import find_failing_code, find_in_history, read_names

SPECIFICATION = {
    "assignment": "small",
    "questions": {},
    "cells": {"nb": {"given": [], "answers": ["width"]}},
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('n = int(input("n: "))', 'n = int(input("n: "))'),
        ("x = 1\nif x:\n    y = input()", "y = input()"),
        ("class A:\n    size = input()", "size = input()"),
        ("%matplotlib inline\nname = input()", "name = input()"),
        ("from getpass import getpass\nkey = getpass()", "key = getpass()"),
        ('import pandas as pd\npd.read_csv("C:\\\\Users\\\\me\\\\a.csv")', "C:\\Users"),
        ('open("/home/me/corpus.txt")', "/home/me/corpus.txt"),
        ('open("../corpus.txt")', "../corpus.txt"),
        ('from pathlib import Path\ntext = Path("~/corpus.txt").read_text()', "~/corpus.txt"),
        ('import os\nos.chdir("/content/drive/MyDrive")', "/content/drive"),
        ("def load():\n    return open('/Users/me/corpus.txt')", "/Users/me"),
        ("%cd /content/drive", "/content/drive"),
        ("get_ipython().run_line_magic('cd', '/content/drive')", "/content/drive"),
        ("ask = input\nn = ask()", "n = ask()"),
        ("from getpass import getpass as secret\nkey = secret()", "key = secret()"),
        ("import sys\nn = sys.stdin.readline()", "sys.stdin.readline()"),
        ("import sys\nfor line in sys.stdin:\n    print(line)", "for line in sys.stdin:"),
        ("import sys\nrows = [row for row in sys.stdin]", ""),
        ("def ask():\n    return input()\nn = ask()", "n = ask()"),
        ("def ask():\n    return input()\ndef main():\n    return ask()\nif True:\n    main()", "main()"),
        ("from pathlib import Path\nfolder = Path.home() / 'data'", "Path.home()"),
        ("import os\nfolder = os.path.expanduser('~/data')", "~/data"),
        ("torch.save(model, f'/content/drive/{name}.pt')", "/content/drive"),
        ("frame.to_csv(path_or_buf='/Users/me/a.csv')", "/Users/me/a.csv"),
        ("folder = 'C:\\\\data'\ntext = read(folder + '/a.txt')", "C:\\data"),
        ("%run other.py", "%run other.py"),
        ("get_ipython().run_line_magic('run', 'other.py')", "%run other.py"),
        ("!pip install einops", "!pip install einops"),
        ("%pip install -q einops", "%pip install -q einops"),
        ("!python -m pip install einops", "pip install einops"),
        ("get_ipython().system('pip install einops')", "!pip install einops"),
        ("from google.colab import drive", "google.colab"),
        ("import google.colab as colab", "google.colab"),
    ],
)
def test_find_failing_code_quotes_what_fails(source: str, expected: str) -> None:
    """One sentence in each language quotes the line or the path."""
    for language in ("en", "de"):
        (said,) = find_failing_code(source, language)
        assert expected in said


@pytest.mark.parametrize(
    "source",
    [
        "def ask():\n    return input()",
        "ask = lambda: input()",
        "def input():\n    return '3'\ninput()",
        "input = 3\nprint(input)",
        "try:\n    n = int(input())\nexcept Exception:\n    n = 3",
        "model.input(3)\nx = model.input_size",
        'open("corpus.txt")\nopen("data/corpus.txt")',
        'open("/tmp/notes.txt", "w")',
        'size = "C:/ is a drive"\nprint("../here")',
        "import sys\nprint(sys.stdin)\nsys.stdin.isatty()",
        "def ask():\n    try:\n        return input()\n    except EOFError:\n        return 3\nn = ask()",
        "ask = 3\nmodel.ask()",
        "try:\n    from google.colab import drive\nexcept ImportError:\n    drive = None",
        "if IN_COLAB:\n    from google.colab import drive",
        "answer = '/home/ada/corpus.txt'\nprint('/home/ada/corpus.txt')",
        '"""~/notes: a text"""',
        "get('https://example.org/home/ada')\nroute('/about')",
        "text = 'a ~/b'\nshow(text)",
        "house.home()\nHouse.home()",
        "%matplotlib inline\n%time f()\n!ls\n%timeit run()",
        "def broken(:",
        "",
    ],
)
def test_find_failing_code_is_silent_about_what_works(source: str) -> None:
    """Uncalled functions, redefined names and files in the folder of the notebook are accepted."""
    assert find_failing_code(source, "en") == []


def test_find_failing_code_knows_the_functions_of_other_cells() -> None:
    """The report names the calling cell, not the defining one."""
    define, call = "def ask():\n    return input()", "n = ask()"
    known = read_names([define, call])
    assert find_failing_code(define, "en", known) == []
    assert [call in said for said in find_failing_code(call, "en", known)] == [True]
    assert len(find_in_history(["", define, call], "en")) == 1
    assert find_in_history(["", define, call, "def ask():\n    return 3"], "en") == []


@pytest.mark.parametrize(
    ("history", "count"),
    [
        (["", "n = input()"], 1),
        (["", "n = input()", "n = 3"], 0),
        (["", "n = input()", "m = 3"], 1),
        (["", "input()", "n = 3"], 1),
        (["", "n = input()", "n = input()"], 1),
        (None, 0),
        ([1, None], 0),
    ],
)
def test_find_in_history_leaves_out_cells_that_were_run_anew(history: Any, count: int) -> None:
    """Of a cell that was run several times, only the last version counts."""
    assert len(find_in_history(history, "en")) == count


@pytest.fixture
def seen() -> Callable[[str], list[str]]:
    """Return a function that checks a saved notebook with one more code cell."""

    def see(source: str) -> list[str]:
        marks = {"grade_id": "width", "solution": True, "schema_version": 3}
        answer = {"cell_type": "code", "metadata": {"nbgrader": marks}, "source": "width = 3"}
        own = {"cell_type": "code", "metadata": {}, "source": source}
        data = json.dumps({"nbformat": 4, "cells": [answer, own]}).encode()
        report = report_on(parse_notebook(data).cells, SPECIFICATION, "nb", "en")
        return [line.text for line in report.cells if line.state == PROBLEM]

    return see


def test_check_of_a_saved_notebook_names_the_cell(seen: Callable[[str], list[str]]) -> None:
    """The report is a problem, so the command exits with 1."""
    (said,) = seen("n = input()")
    assert said.startswith("Cell 2: “n = input()” waits for input.")
    assert seen("n = 3") == []
