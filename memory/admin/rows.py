"""What every table in the admin shares: read-only rows and links between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from django.contrib import admin, messages
from django.contrib.admin.utils import quote
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memory.accounts import workspaces
from memory.models import Membership
from memory.rules import errors
from memory.rules.permissions import Actor

HASH_PREFIX_CHARS: Final = 12


def link(row: Model | None, text: str = "") -> str | SafeString:
    """Return a link to a row's page, "none" for None."""
    if row is None:
        return "none"
    name = f"{row._meta.app_label}_{row._meta.model_name}"
    return _link(name, row.pk, text or row)


def entry_link(entry_id: str) -> SafeString:
    """Return a link to a journal entry without loading it."""
    return _link("memory_journalentry", entry_id, entry_id)


def _link(name: str, key: int | str, text: object) -> SafeString:
    """Return a link; the key is quoted, as the admin reads "_24" in it as "$"."""
    address = reverse(f"admin:{name}_change", args=[quote(key)])
    return format_html('<a href="{}">{}</a>', address, text)


def short(value: str) -> str:
    """Return the beginning of a hash or digest; the admin never shows a whole one."""
    return f"{value[:HASH_PREFIX_CHARS]}…" if value else "none"


def shortened(field: str, title: str = "hash") -> Callable[[Any, Any], str]:
    """Return a column with the beginning of a hash or digest."""

    @admin.display(description=title)
    def column(_table: Any, row: Any) -> str:
        return short(getattr(row, field))

    return column


def linked(
    name: str, by: str, title: str = ""
) -> Callable[[Any, Any], str | SafeString]:
    """Return a column with a link to a related row, which a field of it names."""

    @admin.display(description=title or name, ordering=f"{name}__{by}")
    def column(_table: Any, row: Any) -> str | SafeString:
        related = getattr(row, name)
        return link(related, getattr(related, by, ""))

    return column


def staff_actor(request: HttpRequest, workspace_id: str) -> Actor:
    """Return the staff member as a member of a workspace, or raise Forbidden."""
    user = request.user
    rows = Membership.objects.filter(workspace_id=workspace_id, user_id=user.pk)
    member = rows.select_related("user").first()
    if member is None:
        text = "You are no member of this workspace, so its services refuse you."
        raise errors.Forbidden(text)
    return workspaces.person(member.user, member.role, workspace_id)


if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
else:
    Base = admin.ModelAdmin


class ReadOnly(Base):
    """Read-only rows: no adding, changing or deleting, and cheap on large tables."""

    show_full_result_count = False
    list_per_page = 50
    list_select_related: ClassVar[bool | tuple[str, ...]] = ("workspace",)

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(
        self,
        request: HttpRequest,  # noqa: ARG002
        obj: Any = None,  # noqa: ARG002
    ) -> bool:
        return False

    def has_delete_permission(
        self,
        request: HttpRequest,  # noqa: ARG002
        obj: Any = None,  # noqa: ARG002
    ) -> bool:
        return False

    def name_of(self, row: Any) -> str:
        """Return what a message calls a row."""
        return str(row.pk)

    def act_on_each(
        self,
        request: HttpRequest,
        selection: QuerySet[Any],
        act: Callable[[Any, Actor], object],
        result: str,
    ) -> None:
        """Call a service for each row; show each refusal, and how many succeeded."""
        count = 0
        for row in selection:
            try:
                act(row, staff_actor(request, row.workspace_id))
                count += 1
            except errors.AppError as error:
                text = f"{self.name_of(row)}: {error.detail}"
                self.message_user(request, text, messages.ERROR)
        self.message_user(request, f"{count} {result}.")
