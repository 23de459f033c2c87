"""Inviting people through the pages, for tests of who gets in."""

from __future__ import annotations

import re
from typing import Any, Final

from django.test import Client

from memory.models import Membership, User
from tests.world import PASSWORD, World

MEMBERS: Final = "/workspace/members/"
BACKEND: Final = "django.contrib.auth.backends.ModelBackend"
NEW: Final = "new.person@b.example"
PASSWORD_FORM: Final = {"new_password1": PASSWORD, "new_password2": PASSWORD}


def text(response: Any) -> str:
    return str(response.content.decode())


def link_of(response: Any) -> str:
    """Return the path of the link that a page shows once."""
    match = re.search(r'id="link">http://testserver(/login/[^<]+)<', text(response))
    assert match is not None, text(response)
    return match.group(1)


def invited(
    world: World, by: str = "owner", email: str = NEW, role: str = "viewer"
) -> str:
    """Invite as somebody and return the path of the link that the page shows."""
    answer = world.page(by).post(MEMBERS, {"email": email, "role": role})
    assert answer.status_code == 201
    return link_of(answer)


def homes(email: str) -> set[str]:
    """Return the workspaces that somebody is a member of."""
    rows = Membership.objects.filter(user__email=email)
    return set(rows.values_list("workspace__slug", flat=True))


def signed_in(user: User) -> Client:
    """Return a browser in which somebody is signed in."""
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client


def entered(path: str) -> Client:
    """Make the account of a new person with a link; return their browser."""
    browser = Client()
    assert browser.post(path, PASSWORD_FORM).status_code == 302
    return browser
