"""Refusals of actions on marks, groups and regrade requests."""

from __future__ import annotations

from autograder.service.refusals import RequestRefused


class ActionRefused(RequestRefused):
    """The action does not fit the data as it is; the API answers with status 422 instead of 400."""
