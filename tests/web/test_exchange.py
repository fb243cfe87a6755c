"""nbgrader's exchange over the service: list, fetch, submit and feedback, as JupyterLab uses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError, ExchangeFactory
from traitlets.config import Config

from autograder.service.receipts import verify_receipt
from tests.service import course
from tests.web.people import Small
from tests.web.test_staff import canned

WAYS = ("list", "fetch_assignment", "fetch_feedback", "submit")


class Home:
    """A student's home folder with nbgrader configured for the service."""

    def __init__(self, at: Small, address: str, folder: Path, student: str = "ada") -> None:
        from autograder.service.models import ProgramKey
        from autograder.web.account import hash_secret

        self.folder, self._slug = folder, at.record.slug
        key = f"key of {student} in {self._slug}"
        ProgramKey.objects.create(
            account=at.account("student", student), digest=hash_secret(key), label="test"
        )
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "key").write_text(key + "\n")
        names = {way: f"Service{way.title().replace('_', '')}" for way in WAYS}
        names["exchange"] = "ServiceExchange"
        self.config = Config(
            {
                "ExchangeFactory": {way: f"autograder.web.exchange.{name}" for way, name in names.items()},
                "ServiceExchange": {
                    "address": address,
                    "key_file": str(folder / "key"),
                    "root": str(folder / "mirror"),
                },
                "Exchange": {"assignment_dir": str(folder), "cache": str(folder / "cache")},
                "CourseDirectory": {"course_id": self._slug},
            }
        )

    def do(self, way: str, assignment: str = "", **options: Any) -> Any:
        """Run an action of nbgrader's exchange."""
        self.config.CourseDirectory.assignment_id = assignment
        factory = ExchangeFactory(config=self.config)
        parts = {"coursedir": CourseDirectory(config=self.config), "authenticator": Authenticator()}
        plugin = getattr(factory, way)(**parts, config=self.config)
        for name, value in options.items():
            setattr(plugin, name, value)
        return plugin.start()


@pytest.fixture
def home(at: Small, address: str, tmp_path: Path) -> Home:
    """Return the home folder of a student of the small course."""
    return Home(at, address, tmp_path / "home")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # nbgrader leaves files open
def test_from_the_list_to_the_feedback(at: Small, home: Home) -> None:
    """An assignment is fetched and submitted, and its feedback stored where nbgrader expects it."""
    name = at.offer.assignment
    (entry,) = home.do("list")
    assert (at.record.slug, name, "released") == tuple(
        entry[key] for key in ("course_id", "assignment_id", "status")
    )
    home.do("fetch_assignment", name)
    files = {path.name: path.read_bytes() for path in (home.folder / name).iterdir()}
    assert course.released(at.folder).items() <= files.items()
    assert "fetched" == home.do("list")[0]["status"]

    for file, data in course.answered(at.folder, layers_answer="layers = 12").items():
        (home.folder / name / file).write_bytes(data)
    home.do("submit", name)
    attempt = at.offer.attempts.get()
    (submitted,) = home.do("list", cached=True)
    (submission,) = submitted["submissions"]
    receipt = (Path(submission["path"]) / "receipt.json").read_text()
    assert str(attempt.pk) == verify_receipt(receipt, course.SIGNER.public)["id"]
    assert (home.folder / name / "code.ipynb").read_bytes() == _contents(attempt)["code.ipynb"]
    assert not submission["has_exchange_feedback"]

    canned(at, attempt)
    at.offer.published_at = attempt.submitted_at
    at.offer.save()
    assert home.do("list", cached=True)[0]["submissions"][0]["has_exchange_feedback"]
    home.do("fetch_feedback", name)
    pages = sorted((home.folder / name / "feedback").rglob("*.html"))
    assert ["code.html", "formulas.html"] == [page.name for page in pages]
    assert "<html" in pages[0].read_text()


def _contents(attempt: Any) -> dict[str, bytes]:
    from autograder.service import attempts

    return attempts.load_files(attempt)


def test_what_is_gone_is_listed_no_more(at: Small, home: Home) -> None:
    """Hidden assignments, and those before their start, are not listed."""
    assert 1 == len(home.do("list"))
    for change in (
        {"visible": False},
        {"visible": True, "times": {"start": "2099-01-01T00:00:00Z", "end": "2099-01-02T00:00:00Z"}},
    ):
        type(at.offer).objects.filter(pk=at.offer.pk).update(**change)
        assert [] == home.do("list")
        with pytest.raises(ExchangeError):
            home.do("fetch_assignment", at.offer.assignment)


def test_a_refusal_is_told_and_nothing_looks_submitted(at: Small, home: Home) -> None:
    """The error has the message of the service, and nothing is stored as submitted."""
    home.do("fetch_assignment", at.offer.assignment)
    type(at.offer).objects.filter(pk=at.offer.pk).update(most_attempts=0)
    with pytest.raises(ExchangeError, match="already 0 attempts"):
        home.do("submit", at.offer.assignment)
    assert [] == home.do("list", cached=True)
    (home.folder / "key").write_text("another")
    with pytest.raises(ExchangeError, match="The API key is not known"):
        home.do("list")


def test_nobody_elses_work_comes(at: Small, address: str, home: Home, tmp_path: Path) -> None:
    """A key gives access only to the owner's courses and feedback."""
    from django.test import Client

    other = Home(at, address, tmp_path / "other", "bob")
    other.do("fetch_assignment", at.offer.assignment)
    other.do("submit", at.offer.assignment)
    canned(at, at.offer.attempts.get())
    type(at.offer).objects.filter(pk=at.offer.pk).update(published_at=at.offer.attempts.get().submitted_at)
    place = f"/api/courses/{at.record.slug}/assignments/{at.offer.assignment}"
    keys = [
        {"Authorization": f"Bearer {(person.folder / 'key').read_text().strip()}"} for person in (home, other)
    ]
    assert [404, 200] == [Client().get(f"{place}/feedback", headers=key).status_code for key in keys]
    stranger = Client().get("/api/courses", headers=keys[0])
    assert [at.record.slug] == [course["slug"] for course in json.loads(stranger.content)["items"]]
    assert [401, 404] == [
        Client().get("/api/courses").status_code,
        Client().get("/api/courses/course-0/assignments/small/files.zip", headers=keys[0]).status_code,
    ]
