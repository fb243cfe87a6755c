"""Assignments from Git: what is fetched, and what a hostile repository, server or address gets: nothing."""

from __future__ import annotations

import os
import shutil
import socket
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autograder.core.errors import ServiceError
from autograder.core.wording import render_phrase
from tests.service.repository import HOST, RUBRIC, Repository, make_certificate, serve_repositories

pytestmark = pytest.mark.usefixtures("service_database")  # configures Django

FILES: Mapping[str, bytes] = {
    RUBRIC: b"title",
    "assignments/small/code.ipynb": b"{}",
    "reference/small/solution.py": b"x = 1\r\n",
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A repository in the only folder that is allowed."""
    from autograder.service import git_repositories

    monkeypatch.setenv(git_repositories.FOLDERS, f"{tmp_path / 'nowhere'}:{tmp_path / 'allowed'}")
    return Repository(tmp_path / "allowed" / "course.git")


def fetch(address: str | Path, ref: str = "", folder: str = "") -> tuple[str, dict[str, bytes]]:
    """Fetch the assignment; return the commit, and the contents by path."""
    from autograder.service import git_repositories

    url = f"file://{address}" if isinstance(address, Path) else address
    source = git_repositories.check_source(git_repositories.GitSource(url, ref, folder))
    fetched = git_repositories.fetch_assignment(source, "small")
    with fetched as (commit, archive), zipfile.ZipFile(archive) as packed:
        return commit, {info.filename: packed.read(info) for info in packed.infolist()}


def refuse(code: str, *source: Any) -> ServiceError:
    """Check that a source is refused with this sentence."""
    from autograder.service.refusals import RequestRefused

    with pytest.raises(RequestRefused) as refused:
        fetch(*source)
    assert code == refused.value.code, str(refused.value)
    assert render_phrase(refused.value.text, "de") != str(refused.value)
    return refused.value


def open_archive(address: Path) -> None:
    """Fetch the assignment, and open its archive as an upload."""
    from autograder.service import drafts, git_repositories

    source = git_repositories.GitSource(f"file://{address}")
    with git_repositories.fetch_assignment(source, "small") as (_, archive), drafts._open_files(archive):
        pass


def test_fetch_takes_one_assignment_out_of_a_course(repository: Repository) -> None:
    """Bytes are unchanged; other assignments, files of Git and everything beside the course stay away."""
    beside = {
        "README.md": b"x",
        "roster.csv": b"x",
        "rubrics/other.toml": b"x",
        "assignments/other/code.ipynb": b"{}",
        "reference/.gitignore": b"*.pyc",
        ".github/workflows/x.yml": b"x",
        ".gitattributes": b"* text eol=lf\n",
    }
    first = repository.commit({**FILES, **beside})
    assert (first, dict(FILES)) == fetch(repository.path)
    second = repository.commit({**FILES, RUBRIC: b"new"})
    commit, files = fetch(repository.path)
    assert (second, b"new") == (commit, files[RUBRIC])


def test_fetch_finds_branches_tags_and_folders(repository: Repository) -> None:
    """Also an annotated tag, and a name with a slash; the same commit makes the same archive."""
    from autograder.service import git_repositories

    repository.commit({"x": b"x"})
    commit = repository.commit({f"courses/dl/{path}": data for path, data in FILES.items()}, "winter/2026")
    repository.run("tag", "-a", "v1", "-m", "x", commit)
    for ref in ("winter/2026", "v1", "refs/heads/winter/2026"):
        assert (commit, dict(FILES)) == fetch(repository.path, ref, "courses/dl/")
    refuse("git-no-rubric", repository.path, "v1")
    refuse("git-no-ref", repository.path, "summer")
    refuse("git-no-rubric", repository.path)
    repository.run("tag", "blob", repository.write_blob(b"x"))
    refuse("git-failed", repository.path, "blob")
    source = git_repositories.GitSource(f"file://{repository.path}", "v1", "courses/dl")
    archives = []
    for _ in range(2):
        with git_repositories.fetch_assignment(source, "small") as (_, archive):
            archives.append(archive.read())
    assert archives[0] == archives[1]


def test_fetch_reads_a_folder_with_its_files_checked_out(repository: Repository, tmp_path: Path) -> None:
    """The repository is in its folder `.git`; an empty one has nothing to fetch."""
    refuse("git-no-ref", repository.path)
    commit = repository.commit(FILES)
    shutil.copytree(repository.path, tmp_path / "allowed" / "clone" / ".git")
    assert commit == fetch(tmp_path / "allowed" / "clone")[0]
    refuse("git-no-repository", tmp_path / "allowed")
    refuse("git-no-repository", tmp_path / "allowed" / "missing")
    refuse("git-no-repository", tmp_path / "allowed" / ("x" * 300))


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("https://jdoe:secret@git.example.org/x.git", "git-credentials"),
        ("https://token@git.example.org/x.git", "git-credentials"),
        ("HTTPS://token@git.example.org/x.git", "git-credentials"),
        ("http://git.example.org/x.git", "git-expected"),
        ("ssh://git@git.example.org/x.git", "git-expected"),
        ("git@git.example.org:x.git", "git-expected"),
        ("git://git.example.org/x.git", "git-expected"),
        ("ext::sh -c touch% /tmp/x", "git-expected"),
        ("fd::17", "git-expected"),
        ("--upload-pack=touch x", "git-expected"),
        ("-u", "git-expected"),
        ("/etc", "git-expected"),
        ("file:etc", "git-expected"),
        ("file://host/etc", "git-expected"),
        ("file:///etc\n/x", "git-expected"),
        ("https://git.example.org", "git-expected"),
        ("https://git.example.org/", "git-expected"),
        ("https://git.example.org./x", "git-expected"),
        ("https://git.example.org:99999/x", "git-expected"),
        ("https://git.example.org/x?access_token=secret", "git-expected"),
        ("https://git.example.org\\@10.0.0.8/x", "git-credentials"),
        ("https://git.example.org/x#y", "git-expected"),
        ("https://git.example.org/x y", "git-expected"),
        ('https://git.example.org/x"\n[core]', "git-expected"),
        ("https://[::1]/x", "git-expected"),
        ("https://gít.example.org/x", "git-expected"),
        (f"https://git.example.org/{'x' * 500}", "git-expected"),
        ("", "git-expected"),
    ],
)
def test_other_addresses_are_refused_before_anything_runs(
    address: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence does not repeat the address, which may hold a token."""
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "secret" not in str(refuse(code, address))


@pytest.mark.parametrize(
    "ref",
    ["-q", "--upload-pack=x", "+main", "main:refs/heads/x", "^main", "*", "a..b", "a@{1}", "a b", "a\nb"],
)
def test_options_and_patterns_are_no_branches(ref: str, repository: Repository) -> None:
    """Nor are they folders."""
    repository.commit(FILES)
    refuse("git-bad-ref", repository.path, ref)
    if ref not in {"a..b", "a b"}:
        refuse("git-bad-folder", repository.path, "", ref)


@pytest.mark.parametrize("folder", ["..", "a/../..", ".git", "a//b", ":(top)x", "x" * 300])
def test_folders_lead_nowhere_else(folder: str, repository: Repository) -> None:
    """They are names of a path that a course may have."""
    refuse("git-bad-folder", repository.path, "", folder)


def test_repositories_outside_the_allowed_folders_are_refused(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `..`, by a link to the repository or in its place, and by default; whatever is there."""
    from autograder.service import git_repositories

    outside = Repository(tmp_path / "outside.git")
    outside.commit(FILES)
    allowed = repository.path.parent
    (allowed / "link.git").symlink_to(outside.path)
    (allowed / "clone").mkdir()
    (allowed / "clone" / ".git").symlink_to(outside.path)
    for path in (
        outside.path,
        tmp_path / "missing",
        allowed / ".." / "outside.git",
        allowed / "link.git",
        allowed / "clone",
        Path(f"{allowed}-other"),
    ):
        refuse("git-outside", path)
    (allowed / "work").mkdir()
    (allowed / "work" / ".git").write_text(f"gitdir: {outside.path}\n")
    refuse("git-no-repository", allowed / "work")
    monkeypatch.delenv(git_repositories.FOLDERS)
    refuse("git-outside", repository.path)


def place_link(repository: Repository) -> list[tuple[int, str, str]]:
    """A link to a file of this machine."""
    return [(0o120000, "link.py", repository.write_blob(b"/etc/passwd"))]


def place_submodule(repository: Repository) -> list[tuple[int, str, str]]:
    """Another repository."""
    repository.write_blob(b"x")
    return [(0o160000, "module", "1" * 40)]


def place_git_folder(repository: Repository) -> list[tuple[int, str, str]]:
    """A folder that Git would treat as a repository, with a hook."""
    return [(0o40000, ".git", repository.write_files({"hooks/post-checkout": b"#!/bin/sh\ntouch x"}))]


def place_path_outside(repository: Repository) -> list[tuple[int, str, str]]:
    """Folders that lead up."""
    inner = repository.write_tree((0o40000, "..", repository.write_files({"evil.py": b"x"})))
    return [(0o40000, "..", inner)]


def place_slashes(repository: Repository) -> list[tuple[int, str, str]]:
    """A name that is a path."""
    return [(0o100644, "../../evil.py", repository.write_blob(b"x"))]


def place_bytes(repository: Repository) -> list[tuple[int, str, str]]:
    """A name that cannot be printed."""
    return [(0o100644, "a\x1b[2Jb", repository.write_blob(b"x"))]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (place_link, "link.py: it is a link"),
        (place_submodule, "module: it is no regular file"),
        (place_git_folder, "this path cannot be used"),
        (place_path_outside, "leads out of the archive"),
        (place_slashes, "leads out of the archive"),
        (place_bytes, "this path cannot be used"),
    ],
)
def test_entries_that_are_no_files_of_a_course_are_refused(
    repository: Repository, place: Callable[[Repository], list[tuple[int, str, str]]], said: str
) -> None:
    """As in an upload: the archive says what Git says about them."""
    reference = repository.write_tree(*place(repository))
    rubrics = repository.write_files({"small.toml": b""})
    repository.commit_tree(
        repository.write_tree((0o40000, "reference", reference), (0o40000, "rubrics", rubrics))
    )
    with pytest.raises(ServiceError, match=said):
        open_archive(repository.path)


def test_linked_folders_are_not_followed(repository: Repository) -> None:
    """Neither as the folder of the course, nor inside it."""
    link = repository.write_blob(b"elsewhere")
    files = repository.write_files({"small.toml": b""})
    repository.commit_tree(repository.write_tree((0o120000, "reference", link), (0o40000, "rubrics", files)))
    with pytest.raises(ServiceError, match="reference: it is a link"):
        open_archive(repository.path)
    elsewhere = repository.write_files(FILES)
    repository.commit_tree(
        repository.write_tree((0o120000, "course", link), (0o40000, "elsewhere", elsewhere))
    )
    refuse("git-no-rubric", repository.path, "", "course")


def test_nothing_of_a_repository_runs(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No hook, filter or program of its configuration, and none of this machine's configuration either."""
    attributes = b"* filter=evil export-ignore\n"
    repository.commit({**FILES, ".gitattributes": attributes, "reference/.gitattributes": attributes})
    trace = tmp_path / "trace"
    touch = f"touch {trace}; cat"
    for name in ("post-checkout", "post-merge", "pre-receive", "reference-transaction", "post-index-change"):
        hook = repository.path / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{touch}\n")
        hook.chmod(0o755)
    for key in ("uploadpack.packObjectsHook", "core.fsmonitor", "core.sshCommand", "filter.evil.smudge"):
        repository.run("config", key, touch)
    configuration = tmp_path / "configuration"
    configuration.write_text(
        f'[filter "evil"]\nsmudge = "{touch}"\n[uploadpack]\npackObjectsHook = "{touch}"\n'
        f'[url "file:///nonexistent"]\ninsteadOf = "{repository.path}"\n'
    )
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG"):
        monkeypatch.setenv(name, str(configuration))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_ASKPASS", touch)
    assert FILES == fetch(repository.path)[1]
    assert not trace.exists()


def test_pointers_to_large_files_are_named(repository: Repository) -> None:
    """Their contents are not in the repository."""
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n"
    repository.commit({**FILES, "reference/weights.bin": pointer})
    assert "reference/weights.bin" in str(refuse("git-pointer", repository.path))


def test_large_repositories_are_not_stored(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what is transferred, nor what comes out of it, nor a tree that contains itself many times."""
    from autograder.service import git_repositories

    monkeypatch.setattr(git_repositories, "MOST_BYTES", 1 << 17)
    repository.commit({**FILES, "video.mp4": os.urandom(1 << 18)})
    refuse("git-large", repository.path)
    repository.commit({**FILES, "reference/zeros": bytes(1 << 18)})
    refuse("git-large", repository.path)
    repository.commit(FILES)
    assert FILES == fetch(repository.path)[1]


def test_trees_that_list_billions_of_files_are_refused(repository: Repository) -> None:
    """Each level contains the one below it ten times."""
    tree = repository.write_tree((0o100644, "x", repository.write_blob(b"x")))
    for _ in range(10):
        tree = repository.write_tree(*((0o40000, f"{number}", tree) for number in range(10)))
    rubrics = repository.write_files({"small.toml": b""})
    repository.commit_tree(repository.write_tree((0o40000, "reference", tree), (0o40000, "rubrics", rubrics)))
    refuse("git-many", repository.path)


def test_too_many_files_are_refused(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as in an archive."""
    from autograder.service import git_repositories

    repository.commit(FILES)
    monkeypatch.setattr(git_repositories, "MOST_FILES", len(FILES) - 1)
    refuse("git-many", repository.path)


def test_a_missing_or_old_git_is_reported(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets no variable of this process: they hold the database's password."""
    programs = tmp_path / "programs"
    programs.mkdir()
    prlimit = shutil.which("prlimit")
    assert prlimit is not None
    monkeypatch.setenv("AUTOGRADER_DATABASE_URL", "postgresql://x:secret@localhost/x")
    monkeypatch.setenv("PATH", str(programs))
    refuse("git-missing", repository.path)
    (programs / "prlimit").symlink_to(prlimit)
    seen = tmp_path / "seen"
    (programs / "git").write_text(f"#!/bin/sh\nexport -p > {seen}\necho git version 2.36.9\n")
    (programs / "git").chmod(0o755)
    refuse("git-missing", repository.path)
    assert "GIT_TERMINAL_PROMPT" in seen.read_text()
    assert "secret" not in seen.read_text()


# ---------------------------------------------------------------- https


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The addresses of hosts, as look-ups of this process find them; Git's own would find none."""
    from autograder.service import outgoing

    addresses = {HOST: "127.0.0.1"}

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        if host not in addresses:
            raise OSError("unknown")
        return [(None, None, None, "", (addresses[host], port))]

    monkeypatch.setattr(outgoing, "socket", SimpleNamespace(getaddrinfo=look_up, SOCK_STREAM=1))
    monkeypatch.setenv(outgoing.PRIVATE, "1")
    return addresses


@pytest.mark.usefixtures("hosts")
def test_fetch_by_https_connects_to_the_checked_address_alone(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the certificate of the host; a redirect and a question for a password end it."""
    commit = repository.commit(FILES)
    certificate, key = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    with serve_repositories(repository.path.parent, certificate, key) as (port, paths):
        place = f"https://{HOST}:{port}"
        assert (commit, dict(FILES)) == fetch(f"{place}/course.git")
        assert (commit, dict(FILES)) == fetch(f"https://GIT.example.org:{port}/course.git", "main")
        refuse("git-no-ref", f"{place}/course.git", "summer")
        refuse("git-no-repository", f"{place}/other.git")
        refuse("git-no-repository", f"{place}/closed/course.git")
        paths.clear()
        refuse("git-redirect", f"{place}/moved/course.git")
        assert ["/moved/course.git/info/refs?service=git-upload-pack"] == paths
        monkeypatch.delenv("SSL_CERT_FILE")
        assert "certificate" in str(refuse("git-failed", f"{place}/course.git"))


def test_private_and_unknown_hosts_are_not_connected_to(
    hosts: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By name, by number, and by numbers in other notations, unless the operator allows it."""
    from autograder.service import outgoing

    monkeypatch.delenv(outgoing.PRIVATE)
    refuse("webhook-private", f"https://{HOST}/x")
    refuse("webhook-host", "https://unknown.example.org/x")
    for number in ("127.0.0.1", "0x7f.1", "2130706433", "10.0.0.8", "169.254.169.254"):
        hosts[number] = socket.inet_ntoa(socket.inet_aton(number))
        refuse("webhook-private", f"https://{number}/x")


@pytest.mark.usefixtures("hosts")
def test_a_server_that_does_not_answer_holds_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end of the time, Git and its helpers are ended."""
    from autograder.service import git_repositories

    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(git_repositories, "SECONDS", 15.0)  # a busy machine has to reach the server first
        refuse("git-slow", f"https://{HOST}:{server.getsockname()[1]}/x")
        connection, _ = server.accept()
        with connection:
            while connection.recv(1 << 16):  # until the other side is gone
                pass
