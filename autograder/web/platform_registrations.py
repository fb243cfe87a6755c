"""Pages for administrators of the service: learning platforms that register themselves."""

from __future__ import annotations

import logging
from typing import get_args

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from autograder.core.errors import ServiceError
from autograder.service import registrations
from autograder.service.models_results import PlatformRegistration
from autograder.web.guard import allow_anyone, require_superuser
from autograder.web.identity import StudentIs
from autograder.web.responses import render_page

LOG = logging.getLogger("autograder.web.platform_registrations")


class ConfirmForm(forms.Form):
    """How students of a platform are identified."""

    student = forms.ChoiceField(choices=[(claim, claim) for claim in get_args(StudentIs)])


@require_superuser("GET", "HEAD", "POST")
def show_platforms(request: HttpRequest) -> HttpResponse:
    """Show the platforms of the service. A POST creates an address for a registration, shown only then."""
    address = ""
    if request.method == "POST":
        token = registrations.create_token(request.user)
        address = request.build_absolute_uri(reverse("lti-register", kwargs={"token": token}))
    rows = PlatformRegistration.objects.exclude(registration=None).select_related("registration")
    context = {
        "address": address,
        "hours": round(registrations.VALID.total_seconds() / 3600),
        "registered": rows.order_by("registration__name", "pk"),
        "configured": settings.RUNNING.platforms.values(),
        "claims": get_args(StudentIs),
    }
    return render_page(request, "platforms.html", context)


@require_superuser("POST")
def confirm_platform(request: HttpRequest, platform: int) -> HttpResponse:
    """Confirm a platform, with the deployments that may launch; again to change these."""
    row, form = _get_row(platform), ConfirmForm(request.POST)
    if form.is_valid():
        deployments = request.POST.getlist("deployment")
        registrations.confirm_platform(row, form.cleaned_data["student"], deployments, request.user)
    return redirect("platforms")


@require_superuser("POST")
def remove_platform(request: HttpRequest, platform: int) -> HttpResponse:
    """Remove a platform; if members came through it, it only stops launching."""
    registrations.remove_platform(_get_row(platform), request.user)
    return redirect("platforms")


def _get_row(platform: int) -> PlatformRegistration:
    rows = PlatformRegistration.objects.exclude(registration=None).select_related("registration")
    return get_object_or_404(rows, pk=platform)


@allow_anyone("GET")
def register_platform(request: HttpRequest, token: str) -> HttpResponse:
    """Register with the platform whose administrator opened the address there, usually in a frame."""
    # The standard prescribes GET; a request without the parameter, such as a link preview, uses nothing up.
    address = request.GET.get("openid_configuration", "")
    tool = registrations.ToolAddresses(
        *(request.build_absolute_uri(reverse(name)) for name in ("lti-login", "lti-launch", "lti-keys"))
    )
    request.frame_origin = "https:"  # any platform: nothing on the page can be clicked by mistake
    try:
        platform = registrations.register_platform(
            token, address, request.GET.get("registration_token", ""), tool
        )
    except ServiceError as error:
        # The message is ours; addresses and tokens are not logged.
        LOG.warning("a registration was refused: %s", error)
        return render_page(request, "registered.html", {"platform": None, "reason": error.text}, status=400)
    response = render_page(request, "registered.html", {"platform": platform})
    # The page tells the window that opened it to close it.
    response.headers["Cross-Origin-Opener-Policy"] = "unsafe-none"
    return response
