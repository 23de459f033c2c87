"""The language a person reads pages and mails in."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Final

from django.conf import settings
from django.utils import translation

from memory.models import User
from memory.rules import errors

# As the browser asks for.
OF_THE_BROWSER: Final = ""


def choose(user: User, code: str) -> None:
    """Save the person's language; empty for that of the browser."""
    if code not in (OF_THE_BROWSER, *dict(settings.LANGUAGES)):
        raise errors.unknown_value("language", dict(settings.LANGUAGES))
    user.language = code
    user.save(update_fields=["language"])


def activate_for(user: object) -> None:
    """Go over to the language that a signed-in person chose, for this request."""
    if isinstance(user, User) and user.language:
        translation.activate(user.language)


def mail_language(user: User | None) -> AbstractContextManager[None]:
    """Return a context in which texts are in the language of a mail to this person."""
    code = user.language if user is not None else ""
    return translation.override(code or settings.LANGUAGE_CODE)
