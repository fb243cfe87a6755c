"""The service as Django knows it."""

from __future__ import annotations

from django.apps import AppConfig


class ServiceConfig(AppConfig):
    """Tables and migrations."""

    name = "autograder.service"
    label = "service"
    default_auto_field = "django.db.models.BigAutoField"
