"""The service as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class ServiceConfig(AppConfig):
    """The app that owns the tables and migrations."""

    name = "autograder.service"
    label = "service"
    default_auto_field = "django.db.models.BigAutoField"
