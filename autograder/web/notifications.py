"""Page for instructors: webhooks of a course, and whether its e-mails state points."""

from __future__ import annotations

from django.contrib import messages as notices
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from autograder.core.errors import ServiceError
from autograder.core.wording import decode_phrase
from autograder.service.models import CourseRecord, Role
from autograder.service.models_results import Webhook
from autograder.service.notices import webhooks
from autograder.web.guard import Visit, require_role
from autograder.web.responses import render_page
from autograder.web.site import get_words


@require_role(Role.INSTRUCTOR, "GET", "HEAD", "POST")
def show_notifications(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the webhooks of a course. A POST adds one, whose secret is shown only then."""
    new, refused = None, ""
    if request.method == "POST":
        address = request.POST.get("address", "").strip()
        try:
            new = webhooks.add_webhook(visit.course, address, request.user)
        except ServiceError as error:
            notices.error(request, get_words(request)["t"]("refused", reason=error.text))
            refused = address
    hooks = [(hook, decode_phrase(hook.problem)) for hook in visit.course.webhooks.order_by("pk")]
    context = {"webhooks": hooks, "new": new, "refused": refused}
    return render_page(request, "notifications.html", context)


@require_role(Role.INSTRUCTOR, "POST")
def remove_webhook(request: HttpRequest, visit: Visit, webhook: int) -> HttpResponse:
    """Remove a webhook."""
    webhooks.remove_webhook(get_object_or_404(Webhook, pk=webhook, course=visit.course), request.user)
    return redirect("notifications", slug=visit.course.slug)


@require_role(Role.INSTRUCTOR, "POST")
def set_mail_marks(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Let e-mails about published results state the points, or not."""
    wanted, course = request.POST.get("wanted") == "yes", visit.course
    with transaction.atomic():
        visit.record_action("points in mails", course.slug, before=course.mail_marks, after=wanted)
        CourseRecord.objects.filter(pk=course.pk).update(mail_marks=wanted)
    return redirect("notifications", slug=visit.course.slug)
