"""Container image and deployment files: everything they name exists, and values fit the program.

`python -m tests.image` builds the image and starts it with these options; that needs a container engine.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from autograder.cli.app import app
from autograder.core.records import Limits
from autograder.sandbox.inside.seccomp import ALLOWED, REFUSED
from autograder.service import postgres
from autograder.web import maintenance
from autograder.web.site import MOST_UPLOAD

ROOT = Path(__file__).parents[1]
TEXTS = {
    name: (ROOT / name).read_text("utf-8")
    for name in (
        "Dockerfile",
        "compose.yaml",
        "docs/deploy/Caddyfile",
        "docs/deploy/nginx.conf",
        "docs/deploy/workers.yaml",
        "docs/image.md",
    )
}
COMPOSE: dict[str, Any] = yaml.safe_load(TEXTS["compose.yaml"])
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = ("pages", "worker")
DEPLOYMENT, BUDGET = yaml.safe_load_all(TEXTS["docs/deploy/workers.yaml"])
POD: dict[str, Any] = DEPLOYMENT["spec"]["template"]["spec"]
USER = 10001
SANDBOX_CALLS = {
    *("clone", "clone3", "unshare", "mount", "umount2", "pivot_root", "open_tree", "move_mount"),
    *("mount_setattr", "sethostname", "seccomp", "prctl", "capset", "setrlimit", "prlimit64"),
    *("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"),
}
"""System calls that start a box: `autograder.sandbox.inside.linux` and `jail`."""


def substitute(text: str) -> str:
    """Replace Compose's variables by their default, or by any text if one must be set."""
    return re.sub(r"\$\{\w+:([-?])([^}]*)\}", lambda match: match[2] if match[1] == "-" else "dl", text)


def list_argument_lists() -> Iterator[tuple[str, list[str]]]:
    """Yield the place of each started command, and its words."""
    yield "Dockerfile", json.loads(re.findall(r"^CMD (\[.*\])$", TEXTS["Dockerfile"], re.MULTILINE)[0])
    for name in OURS:
        words = [substitute(word) for word in SERVICES[name]["command"]]
        yield name, shlex.split(words[-1]) if words[:2] == ["sh", "-c"] else words
    for container in (*POD["initContainers"], *POD["containers"]):
        yield container["name"], container["args"]
    for line in re.findall(r"^docker compose (?:run|exec) .*$", TEXTS["docs/image.md"], re.MULTILINE):
        yield line, shlex.split(line)


def list_commands() -> Iterator[tuple[str, list[str]]]:
    """Yield the place of each of our commands, and the words after ``autograder``."""
    for where, words in list_argument_lists():
        starts = [position for position, word in enumerate(words) if word == "autograder"]
        assert starts, where
        for start in starts:
            rest = words[start + 1 :]
            yield where, rest[: rest.index("&&")] if "&&" in rest else rest


@pytest.mark.parametrize(("where", "words"), list(list_commands()))
def test_command_is_accepted(where: str, words: list[str]) -> None:
    """The command line accepts each command with its options and values."""
    if words == ["--help"]:
        return
    name, *rest = words
    command = vars(typer.main.get_command(app))["commands"][name]
    assert command.make_context(name, rest).command.name == name


@pytest.mark.parametrize("name", TEXTS)
def test_variables_are_read_by_the_program(name: str) -> None:
    """Every variable of ours that a file sets is read by the program."""
    sources = [path.read_text("utf-8") for path in (ROOT / "autograder").rglob("*.py")]
    read = {variable for source in sources for variable in re.findall(r'"(AUTOGRADER_\w+)"', source)}
    assert set(re.findall(r"AUTOGRADER_\w+", TEXTS[name])) <= read


def test_compose_file_names_only_what_it_declares() -> None:
    """Services, networks, volumes and secrets are declared, and all images are pinned to a full version."""
    for service in SERVICES.values():
        assert set(service.get("depends_on", ())) <= set(SERVICES)
        assert set(service["networks"]) <= set(COMPOSE["networks"])
        assert set(service.get("secrets", ())) <= set(COMPOSE["secrets"])
        sources = {volume.partition(":")[0] for volume in service.get("volumes", ())}
        named = {source for source in sources if not source.startswith(".")}
        assert named <= set(COMPOSE["volumes"])
        files = {source for source in sources if source.startswith("./docs/")}
        assert all((ROOT / file).is_file() for file in files)
        assert service["restart"] == "unless-stopped"
        pinned = re.search(r":\d+\.\d+(\.\d+)?-\w+$", service["image"])
        assert service.get("build") == "." or pinned, service["image"]
    base = re.findall(r"^ARG BASE=(.*)$", TEXTS["Dockerfile"], re.MULTILINE)
    assert [True] == [
        bool(re.search(r":3\.11\.\d+-slim-bookworm(@sha256:[0-9a-f]{64})?$", image)) for image in base
    ]


def test_one_ordinary_user_without_capabilities_runs_everything() -> None:
    """Image, Compose and Kubernetes use the same user and grant no privileges."""
    assert f"USER {USER}:{USER}\n" in TEXTS["Dockerfile"]
    assert f"chown {USER} secrets/pgpass" in TEXTS["docs/image.md"]
    for name in OURS:
        service = SERVICES[name]
        assert service["user"] == f"{USER}:{USER}"
        assert service["cap_drop"] == ["ALL"]
        assert service["read_only"] is True
        assert "no-new-privileges:true" in service["security_opt"]
        assert not {"cap_add", "privileged", "devices", "pid", "ipc", "ports"} & set(service)
    assert (POD["securityContext"]["runAsUser"], POD["securityContext"]["runAsNonRoot"]) == (USER, True)
    for container in (*POD["initContainers"], *POD["containers"]):
        context = container["securityContext"]
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert (context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"]) == (False, True)


def test_secrets_are_files_outside_of_the_image() -> None:
    """Neither a file of the repository nor the image contains a password."""
    assert {entry["file"].split("/")[1] for entry in COMPOSE["secrets"].values()} == {"secrets"}
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert {"/secrets/", "/course/", "/.env"} <= set(ignored)
    assert "password" not in TEXTS["Dockerfile"].lower()
    assert not re.search(
        r"postgresql://[^@/\s]*:[^@…]", TEXTS["compose.yaml"] + TEXTS["docs/deploy/workers.yaml"]
    )


def test_image_gets_what_the_wheel_is_built_from_and_nothing_else() -> None:
    """The image contains the inputs of the wheel, but no course data, secrets or history."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]
    built = {name.strip("/") for name in (*hatch["sdist"]["include"], *hatch["wheel"]["force-include"])}
    other = {".gitignore", "LICENSE", "README.md", "constraints.txt", "pyproject.toml"}
    assert {rule[1:] for rule in rules if rule.startswith("!")} == built | other


def test_seccomp_profile_refuses_nothing_that_the_sandbox_needs() -> None:
    """The seccomp profile allows all calls of the sandbox and refuses the calls that boxes are refused."""
    profile = json.loads((ROOT / "docs/deploy/seccomp.json").read_text("utf-8"))
    refused = {name for group in profile["syscalls"] for name in group["names"]}
    assert {group["action"] for group in profile["syscalls"]} == {"SCMP_ACT_ERRNO"}
    assert not refused & SANDBOX_CALLS
    assert not refused & {name for _, names in ALLOWED for name in names.split()}
    groups = dict(REFUSED)
    for group in profile["syscalls"]:
        # A call that is added to a box's table is refused here as well, unless the sandbox needs it.
        assert set(group["names"]) == set(groups[group["comment"]].split()) - SANDBOX_CALLS


def test_proxy_takes_as_much_as_the_service() -> None:
    """The proxies' upload limits equal the service's limit."""
    caddy = re.findall(r"max_size (\d+)MiB", TEXTS["docs/deploy/Caddyfile"])
    nginx = re.findall(r"client_max_body_size (\d+)m;", TEXTS["docs/deploy/nginx.conf"])
    assert {MOST_UPLOAD} == {int(limit) << 20 for limit in (*caddy, *nginx)}


def test_workers_may_finish_what_they_grade() -> None:
    """The grace period on shutdown covers the longest grading time of a submission."""
    assert 2 * Limits().submission_seconds < 300
    assert SERVICES["worker"]["stop_grace_period"] == "5m"
    assert POD["terminationGracePeriodSeconds"] == 300
    selected = DEPLOYMENT["spec"]["selector"]
    assert BUDGET["spec"]["selector"] == selected
    assert DEPLOYMENT["spec"]["template"]["metadata"]["labels"] == selected["matchLabels"]


def test_database_is_not_newer_than_the_programs_in_the_image() -> None:
    """pg_dump refuses servers of a later major version, so the database must not be newer."""
    said = subprocess.run(
        [postgres.find_binaries() / "pg_dump", "--version"], capture_output=True, text=True, check=True
    )
    (bundled,) = re.findall(r"PostgreSQL\) (\d+)", said.stdout)
    (server,) = re.findall(r":(\d+)", SERVICES["database"]["image"])
    assert int(server) <= int(bundled)


def test_backup_finds_the_password_where_pages_and_worker_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pg_dump uses the password file of the database's address, which is the secret that Compose mounts."""
    program = tmp_path / "pg_dump"
    program.write_text(f'#!/bin/sh\nprintf %s "$PGPASSFILE" > {tmp_path}/file\n')
    program.chmod(0o755)  # a fake of PostgreSQL's program
    monkeypatch.setattr(postgres, "find_binaries", lambda: tmp_path)
    addresses = {SERVICES[name]["environment"]["AUTOGRADER_DATABASE_URL"] for name in OURS}
    maintenance._run_program("pg_dump", addresses.pop())
    assert not addresses
    assert (tmp_path / "file").read_text() == f"/run/secrets/{SERVICES['pages']['secrets'][0]}"
