"""Which tests `make quick` runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.mirrored import ROOT, arguments, changed, mirrors


def mirrored(*paths: str) -> set[str]:
    """The test files for changed files, without the one that always runs."""
    found = {str(path) for path in mirrors(ROOT, map(Path, paths))}
    assert "tests/test_architecture.py" in found
    return found - {"tests/test_architecture.py"}


def test_a_module_has_its_own_file() -> None:
    """The mirrored file, where there is one, and not all of the folder."""
    assert {"tests/test_atomic.py"} == mirrored("autograder/atomic.py")
    assert {"tests/test_syntax.py"} == mirrored("autograder/syntax.py")


def test_what_imports_a_module_mirrors_it_as_well() -> None:
    """The quick files of its folder do, however they write the import: a module has more than one subject."""
    found = mirrored("autograder/feedback/summary.py")
    assert {"tests/feedback/test_summary.py", "tests/feedback/test_grade.py"} <= found
    assert "tests/feedback/test_sanitise.py" not in found
    assert "tests/feedback/test_render.py" in mirrored("autograder/feedback/sanitise.py")
    assert "tests/notebook/test_title_page.py" in mirrored("autograder/notebook/build.py")


def test_else_what_is_called_after_it() -> None:
    """A page by its own tests, not by those of all pages; modules of a folder by those called after that."""
    assert {"tests/web/test_similar_page.py"} == mirrored("autograder/web/similar.py")
    found = mirrored("autograder/web/marking/shown.py")
    assert {"tests/web/test_marking_pages.py", "tests/web/test_marking_attacks.py"} == found
    assert {"tests/kinds/general/test_table.py"} == mirrored("autograder/kinds/general/table/sentences.py")


def test_else_the_folder_is_run() -> None:
    """All quick files of the nearest folder; none that runs alone."""
    found = mirrored("autograder/algebra/nodes.py")
    assert "tests/algebra/test_parse.py" in found
    assert "tests/algebra/test_hostile.py" not in found


def test_many_files_share_two_cores() -> None:
    """A whole folder does; a module with a file of its own does not. Each file is named once."""
    few = arguments(mirrors(ROOT, [Path("autograder/atomic.py"), Path("tests/test_atomic.py")]))
    assert ["tests/test_architecture.py", "tests/test_atomic.py"] == few
    many = arguments(mirrors(ROOT, [Path("autograder/sandbox/inside/running.py")]))
    assert {"--numprocesses=2", "tests/sandbox/test_shell.py"} <= set(many)


def test_a_test_runs_itself() -> None:
    """Also one that is long; what tests share runs the files beside it."""
    assert {"tests/algebra/test_hostile.py"} == mirrored("tests/algebra/test_hostile.py")
    assert "tests/algebra/test_claims.py" in mirrored("tests/algebra/claims.py")


def test_other_files_are_tried_by_what_is_called_after_them_or_names_them() -> None:
    """Templates, docs and data; what no test names has none."""
    assert {"tests/web/test_similar_page.py"} == mirrored("autograder/web/templates/pages/similar.html")
    assert "tests/test_docs.py" in mirrored("docs/speed.md")
    assert "tests/messages/test_catalogue.py" in mirrored("autograder/locale/de/LC_MESSAGES/autograder.po")
    assert set() == mirrored("rubrics/nobody-" + "names-it.toml", "reference/parameters.py")


def test_changes_are_those_of_git(tmp_path: Path) -> None:
    """Edited and new files, not deleted ones."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for name in ("kept.py", "edited.py", "gone.py"):
        (tmp_path / name).write_text("1")
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "one"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    (tmp_path / "edited.py").write_text("2")
    (tmp_path / "gone.py").unlink()
    (tmp_path / "new.py").write_text("3")
    assert [Path("edited.py"), Path("new.py")] == changed(tmp_path, "HEAD")
