"""Password reset: a link by mail, or advice where no mail server is configured.

The answer is the same for every address. The mail is handed to a thread, so that the
time a mail server takes does not tell whether there is an account.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import structlog
from allauth.decorators import rate_limit
from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.core.mail import EmailMessage
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memory.accounts import languages, login_links, mail
from memory.accounts.login_links import Purpose
from memory.models import User

MAIL_EVERY_SECONDS: Final = 60
log = structlog.get_logger(__name__)
_sender = ThreadPoolExecutor(1, thread_name_prefix="password-mail")


class AddressForm(forms.Form):
    email = forms.EmailField(
        label=gettext_lazy("E-mail"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "username"}),
    )


def post(message: EmailMessage) -> None:
    """Send one mail; log a failure without the address."""
    try:
        mail.send("password", [message])
    except OSError as error:
        log.warning("password_mail_not_sent", error=type(error).__name__)


def _request_mail(request: HttpRequest, email: str) -> None:
    """Send a link if there is an account, at most one a minute for an address."""
    name = hashlib.sha256(email.encode()).hexdigest()
    user = User.objects.filter(email=email, is_active=True).first()
    fresh = cache.add(f"password-mail:{name}", 1, timeout=MAIL_EVERY_SECONDS)
    if user is None or not fresh:
        return
    path = login_links.link_path(user, Purpose.MAILBOX)
    base = settings.PUBLIC_URL or f"{request.scheme}://{request.get_host()}"
    with languages.mail_language(user):
        body = gettext(
            "Somebody asked for a new password for your account in Crewship Memory.\n\n"
            "To choose one, open this link within three days. It works once:\n\n"
            "{link}\n\nIf it was not you, nothing happens.\n"
        ).format(link=f"{base}{path}")
        subject = gettext("A new password for Crewship Memory")
    _sender.submit(post, EmailMessage(subject, body, None, [user.email]))


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@rate_limit(action="reset_password")  # type: ignore[untyped-decorator]
def password_reset(request: HttpRequest) -> HttpResponse:
    """Ask for an address; the answer is the same for known and unknown ones."""
    if not mail.server_set():
        status = 404 if request.method == "POST" else 200
        context = {"state": "no_server"}
        return render(request, "password_reset.html", context, status=status)
    form = AddressForm(request.POST if request.method == "POST" else None)
    if request.method != "POST" or not form.is_valid():
        status = 422 if request.method == "POST" else 200
        page = {"state": "form", "form": form}
        return render(request, "password_reset.html", page, status=status)
    _request_mail(request, form.cleaned_data["email"].strip().lower())
    return render(request, "password_reset.html", {"state": "sent"})
