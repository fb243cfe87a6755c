"""Sign-in through a SAML identity provider: allauth's views, restricted to what the service supports.

Logging out at the identity provider (single logout) is not supported. python3-saml is imported on first use,
so that a service without such a provider does not need it.
"""

from __future__ import annotations

import logging
from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.models import SocialApp
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from autograder.core.errors import describe_error
from autograder.web.guard import View, allow_anyone

LOG = logging.getLogger("autograder.web.saml")
MOST_RESPONSE = 1 << 17
"""Largest response in bytes: it is stored before anything is known of its sender."""


def _get_provider(request: HttpRequest, name: str) -> Any:
    try:
        return get_adapter().get_app(request, "saml", name).get_provider(request)
    except SocialApp.DoesNotExist as error:
        raise Http404 from error


def _open_view(view: str, *methods: str) -> View:
    """Return a view of allauth for the provider that the address names."""

    @allow_anyone(*methods)
    def answer_request(request: HttpRequest, organization_slug: str) -> HttpResponse:
        provider = _get_provider(request, organization_slug)
        if len(request.body) > MOST_RESPONSE:
            raise BadRequest
        from allauth.socialaccount.providers.saml import views

        try:
            return getattr(views, view)(request, organization_slug=organization_slug)
        except (Http404, ImmediateHttpResponse, PermissionDenied):
            raise
        # python3-saml raises any class, also Exception itself, for an unreachable provider or faulty XML.
        except Exception as error:  # noqa: BLE001
            LOG.warning("%s: %s", organization_slug, describe_error(error))
            return render_authentication_error(request, provider, exception=error)

    return answer_request


@allow_anyone()
def show_metadata(request: HttpRequest, organization_slug: str) -> HttpResponse:
    """Return the metadata of the service, which an identity provider is configured with."""
    provider = _get_provider(request, organization_slug)
    from allauth.socialaccount.providers.saml.utils import build_sp_config
    from onelogin.saml2.settings import OneLogin_Saml2_Settings

    service = build_sp_config(request, provider.app.settings, organization_slug)
    del service["singleLogoutService"]
    # Without the last option the metadata has no key to encrypt for, and Shibboleth encrypts by default.
    security = {"allowSingleLabelDomains": True, "authnRequestsSigned": True, "wantAssertionsEncrypted": True}
    settings = OneLogin_Saml2_Settings({"sp": service, "security": security}, sp_validation_only=True)
    return HttpResponse(settings.get_sp_metadata(), content_type="application/samlmetadata+xml")


@allow_anyone()
def refuse_logout(*_: object, **__: object) -> HttpResponse:
    """Answer 404: the address only exists because allauth puts it into its configuration."""
    raise Http404


_BASE = "saml/<str:organization_slug>/"
PAGES = [
    path(f"{_BASE}login/", _open_view("login"), name="saml_login"),
    # The form comes from the identity provider's site; the session's request id replaces the CSRF token.
    path(f"{_BASE}acs/", csrf_exempt(_open_view("acs", "POST")), name="saml_acs"),
    path(f"{_BASE}acs/finish/", _open_view("finish_acs"), name="saml_finish_acs"),
    path(f"{_BASE}metadata/", show_metadata, name="saml_metadata"),
    path(f"{_BASE}sls/", refuse_logout, name="saml_sls"),
]
"""Their names and parameters are those of allauth, which looks them up."""
