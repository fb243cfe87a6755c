"""Create accounts in a running service: ``python -m tests.support.accounts COURSE ROLE NAME…``."""

from __future__ import annotations

import json
import os
import secrets
import sys

from autograder.service import setup

PASSWORD = "password"


def main(slug: str, role: str, names: list[str]) -> None:
    """Create an account with a program key for each name."""
    with setup.open_tables(os.environ[setup.DATABASE_URL]):
        from django.contrib.auth.hashers import make_password

        from autograder.service.models import Account, CourseRecord, Member, Offer, ProgramKey
        from autograder.web.account import hash_secret
        from autograder.web.password_hashing import SequentialArgon2Hasher

        course = CourseRecord.objects.get(slug=slug)
        Offer.objects.filter(course=course).update(visible=True)
        password = make_password(PASSWORD, hasher=SequentialArgon2Hasher())  # shared: hashing is slow
        keys = {}
        for name in names:
            account, _ = Account.objects.get_or_create(username=name, defaults={"password": password})
            student = {"student": name} if role == "student" else {"account": account}
            Member.objects.update_or_create(
                course=course, **student, defaults={"account": account, "role": role}
            )
            keys[name] = secrets.token_urlsafe(32)
            ProgramKey.objects.create(account=account, digest=hash_secret(keys[name]), label="test")
        print(json.dumps(keys))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
