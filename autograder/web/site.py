"""Settings of the web pages."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jinja2
from babel import Locale
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from msgspec import Struct, field

from autograder import messages
from autograder.core.wording import decode_phrase, render_phrase
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.template_rendering import TEMPLATES, make_environment
from autograder.rubric.timestamps import format_moment
from autograder.service.assignment_cache import AssignmentCache
from autograder.service.bench import Bench
from autograder.service.receipts import Signer
from autograder.service.setup import ServiceSettings
from autograder.web import identity
from autograder.web.identity import IdentityProvider, Platform
from autograder.web.request_metrics import RequestMetrics

FOLDER = Path(__file__).parent
BASE = "app/"
"""Cookies are limited to this path. Students' work is shown outside of it, without cookies."""
MOST_UPLOAD = 80 << 20
"""The largest size of a request in bytes."""
SESSION_SECONDS = 12 * 3600
APPS = (
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.jupyterhub",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.socialaccount.providers.saml",
    "django.contrib.messages",
    "django.contrib.staticfiles",
)


class ServiceContext(Struct, frozen=True, eq=False):
    """Objects that the views of this process share."""

    signer: Signer
    loaded: AssignmentCache
    folders: Mapping[str, Path] = {}
    """By course: the folder that its assignments are imported from."""
    providers: Mapping[str, IdentityProvider] = {}
    """Identity providers."""
    platforms: Mapping[str, Platform] = {}
    """Learning platforms that may launch."""
    metrics_key: str = ""
    """Authorises requests for metrics; empty: only this machine may ask."""
    metrics: RequestMetrics = field(default_factory=RequestMetrics)
    bench: Bench | None = None
    """The bench on which markers try a student's notebook; None: not available."""


def build_settings(
    database_url: str,
    *,
    secret_key: str,
    addresses: tuple[str, ...],
    running: ServiceContext,
    https: bool = False,
) -> ServiceSettings:
    """Return the settings of the pages for `autograder.service.setup.configure_django`.

    Args:
        database_url: of the database.
        secret_key: signs sessions.
        addresses: of the service, such as ``https://exams.example.org``.
        running: shared objects for the views.
        https: all addresses are encrypted, by a proxy in front of this service.
    """
    # Django refuses other hosts, so that no forged header gets into the addresses that pages contain.
    hosts = [urlsplit(address).hostname or address for address in addresses]
    further: dict[str, Any] = {
        **_FIXED,
        "ROOT_URLCONF": "autograder.web.urls",
        "RUNNING": running,
        "SOCIALACCOUNT_PROVIDERS": identity.to_settings(running.providers),
        "ALLOWED_HOSTS": hosts,
        "CSRF_TRUSTED_ORIGINS": [address for address in addresses if "://" in address],
        "MIDDLEWARE": _MIDDLEWARE,
        "TEMPLATES": _configure_templates(),
    }
    if https:
        further |= {
            "SECURE_SSL_REDIRECT": True,
            # Probes on this machine ask without the proxy and thus without HTTPS.
            "SECURE_REDIRECT_EXEMPT": [r"^healthz$", r"^metrics$"],
            "SECURE_HSTS_SECONDS": 31_536_000,
            "SESSION_COOKIE_SECURE": True,
            "CSRF_COOKIE_SECURE": True,
            "LANGUAGE_COOKIE_SECURE": True,
        }
    return ServiceSettings(database_url, secret_key, APPS, further)


def build_offline_settings(database_url: str) -> ServiceSettings:
    """Return the settings of a process that answers no requests: a worker, or one that describes the API.

    It knows the tables of all applications: otherwise deleting an account would leave rows that refer to it.
    """
    secret_key = secrets.token_hex(32)  # signs nothing
    running = ServiceContext(Signer(bytes(32)), AssignmentCache())
    return build_settings(database_url, secret_key=secret_key, addresses=(), running=running)


_FIXED: Mapping[str, Any] = {
    "STATIC_URL": "/static/",
    "STATICFILES_DIRS": [FOLDER / "static", TEMPLATES / "look"],
    "WHITENOISE_USE_FINDERS": True,
    "WHITENOISE_MAX_AGE": 3600,
    "LANGUAGES": [
        (language, str(Locale(language).language_name).capitalize()) for language in messages.list_languages()
    ],
    "LANGUAGE_CODE": "en",
    "USE_I18N": True,
    "LANGUAGE_COOKIE_PATH": f"/{BASE}",
    "SESSION_COOKIE_PATH": f"/{BASE}",
    "CSRF_COOKIE_PATH": f"/{BASE}",
    "SESSION_COOKIE_AGE": SESSION_SECONDS,
    # Not Strict: sign-ins through identity providers return here by a link from another site.
    "SESSION_COOKIE_SAMESITE": "Lax",
    "CSRF_COOKIE_SAMESITE": "Lax",
    "CSRF_COOKIE_HTTPONLY": True,
    "LANGUAGE_COOKIE_HTTPONLY": True,
    # Django's default keeps messages, which may name students, in a cookie.
    "MESSAGE_STORAGE": "django.contrib.messages.storage.session.SessionStorage",
    "CSRF_FAILURE_VIEW": "autograder.web.operation.csrf_failure",
    "FILE_UPLOAD_MAX_MEMORY_SIZE": 1 << 20,
    "DATA_UPLOAD_MAX_MEMORY_SIZE": 1 << 20,
    "DATA_UPLOAD_MAX_NUMBER_FILES": 50,
    "PASSWORD_HASHERS": ["autograder.web.password_hashing.SequentialArgon2Hasher"],
    "AUTH_PASSWORD_VALIDATORS": [
        {"NAME": f"django.contrib.auth.password_validation.{name}"}
        for name in (
            "UserAttributeSimilarityValidator",
            "MinimumLengthValidator",
            "CommonPasswordValidator",
            "NumericPasswordValidator",
        )
    ],
    "AUTHENTICATION_BACKENDS": ["allauth.account.auth_backends.AuthenticationBackend"],
    "CACHES": {
        "default": {
            "BACKEND": "django.core.cache.backends.db.DatabaseCache",
            "LOCATION": "service_cache",
            "OPTIONS": {
                "MAX_ENTRIES": 100_000
            },  # beyond it a third is evicted, among them counts of attempts and used launches
        }
    },
    "ACCOUNT_ADAPTER": "autograder.web.account.Adapter",
    "SOCIALACCOUNT_ADAPTER": "autograder.web.adapters.IdentityAdapter",
    "SOCIALACCOUNT_LOGIN_ON_GET": True,
    "ACCOUNT_LOGIN_METHODS": {"username"},
    "ACCOUNT_SIGNUP_FIELDS": ["username*", "password1*", "password2*"],
    "ACCOUNT_EMAIL_VERIFICATION": "none",
    "ACCOUNT_LOGOUT_ON_GET": False,
    "ACCOUNT_RATE_LIMITS": {"login": None, "login_failed": "5/1m/key"},  # the adapter adds a limit by address
    "ACCOUNT_PREVENT_ENUMERATION": True,
    "MFA_SUPPORTED_TYPES": ["totp", "recovery_codes"],
    "MFA_TOTP_TOLERANCE": 1,  # for slow typing and clocks that are half a minute off
    "LOGIN_URL": f"/{BASE}accounts/login/",
    "LOGIN_REDIRECT_URL": f"/{BASE}",
    "ACCOUNT_LOGOUT_REDIRECT_URL": f"/{BASE}accounts/login/",
    "ALLAUTH_TRUSTED_CLIENT_IP_HEADER": None,
}
# Outermost first: `Log` also records the requests that the others refuse.
_MIDDLEWARE = (
    "autograder.web.security.Log",
    "autograder.web.security.Headers",
    "django.middleware.security.SecurityMiddleware",
    "autograder.web.security.Plain",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
)


def _configure_templates() -> list[dict[str, Any]]:
    """Return the template engines: Jinja for our pages, Django's own for those of allauth."""
    shared = [
        "django.template.context_processors.request",
        "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages",
        "autograder.web.guard.add_visit",
        "autograder.web.site.get_words",
    ]
    return [
        {
            "BACKEND": "django.template.backends.jinja2.Jinja2",
            "DIRS": [FOLDER / "templates" / "pages", TEMPLATES],
            "OPTIONS": {"environment": "autograder.web.site.environment", "context_processors": shared},
        },
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "DIRS": [FOLDER / "templates" / "accounts"],
            "APP_DIRS": True,
            "OPTIONS": {"context_processors": shared},
        },
    ]


def environment(**options: Any) -> jinja2.Environment:
    """Return the environment of our templates. Its name is part of the Django settings."""
    pages = make_environment(options["loader"], auto_reload=options["auto_reload"])
    pages.globals |= {"url": _build_url, "static": "/static/"}
    return pages


def _build_url(name: str, /, **parts: object) -> str:
    return reverse(name, kwargs=parts)


_SHELL = (
    *("title", "skip", "here", "courses", "account", "sign-in", "sign-out", "user-name", "password"),
    "too-many",
    *("signed-out", "sign-out-sure", "password-changed"),
    *("new-codes", "new-codes-told", "make-codes", "factor-off", "factor-off-told"),
)
"""Sentences that our account templates add to those of allauth."""


def get_words(request: HttpRequest) -> dict[str, Any]:
    """Return the texts and formatters for all templates, in the reader's language."""
    language = choose_language(request)
    return {
        "language": language,
        "t": functools.partial(_translate, language),
        "render": lambda phrase: render_phrase(phrase, language),
        "stored": lambda text: render_phrase(decode_phrase(text), language),
        "counted": functools.partial(_translate_counted, language),
        "moment": lambda moment, zone="": format_moment(moment, zone or f"{moment:%Z}", language),
        "number": Labels(language).number,
        "nonce": getattr(request, "nonce", ""),
        "others": [option for option in settings.LANGUAGES if option[0] != language],
        "providers": identity.list_buttons(settings.RUNNING.providers),
        "shell": {name.replace("-", "_"): _translate(language, name) for name in _SHELL},
    }


def choose_language(request: HttpRequest) -> str:
    """Return the reader's language if it is available, otherwise English."""
    code = str(getattr(request, "LANGUAGE_CODE", "en")).partition("-")[0]
    return code if code in messages.list_languages() else "en"


def _translate(language: str, code: str, /, **params: object) -> str:
    return messages.format_sentence(f"web.{code}", language, **params)


def _translate_counted(language: str, code: str, number: int, /, **params: object) -> str:
    return messages.get_template(f"web.{code}", language, number).format(number=number, **params)
