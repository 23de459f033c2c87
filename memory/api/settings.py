"""The settings of a workspace over the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from ninja import Router, Schema
from pydantic import Field, create_model

from memory import workspace_settings
from memory.api.request import ApiRequest
from memory.journal import append as journal
from memory.providers import connection
from memory.rules.settings import TEXT_CHARS
from memory.rules.shapes import Strict
from memory.workspace_settings import Kind, Page, Setting, State

router = Router(tags=["workspace"])


# ── What a request may hold ──────────────────────────────────────────────────
def _choice(setting: Setting[Any]) -> Any:
    return Literal[tuple(setting.choices())]


def _number(kind: type, setting: Setting[Any]) -> Any:
    return Annotated[kind, Field(strict=True, ge=setting.least, le=setting.most)]


def _text(setting: Setting[Any]) -> Any:
    max_length = int(setting.most or TEXT_CHARS)
    return Annotated[str, Field(strict=True, min_length=1, max_length=max_length)]


TYPES: Final[dict[Kind, Callable[[Setting[Any]], Any]]] = {
    Kind.SWITCH: lambda _setting: Annotated[bool, Field(strict=True)],
    Kind.CHOICE: _choice,
    Kind.INTEGER: lambda setting: _number(int, setting),
    Kind.NUMBER: lambda setting: _number(float, setting),
    Kind.TEXT: _text,
    Kind.ADDRESS: _text,
    Kind.SECRET: _text,
    Kind.TABLE: lambda _setting: dict[str, str],
}
VERSION: Final = Field(
    None,
    ge=0,
    strict=True,
    description="The version of the answer that this change is based on.",
)


def _fields() -> dict[str, Any]:
    """Return a field for each setting; call after every setting is declared."""
    return {
        setting.name: (
            TYPES[setting.kind](setting) | None,
            Field(None, description=f"{setting.help} null: reset to the default."),
        )
        for setting in workspace_settings.declared()
    }


if TYPE_CHECKING:

    class SettingsIn(Strict):
        """Settings to change by name; null resets one to its default."""

        version: int | None = None

else:
    SettingsIn = create_model(
        "SettingsIn",
        __base__=Strict,
        __doc__="Settings to change by name; null resets one to its default.",
        version=(int | None, VERSION),
        **_fields(),
    )


# ── What an answer holds ─────────────────────────────────────────────────────
class SettingOut(Schema):
    """One setting; the value of a secret is ``{"set": …}`` and nothing else."""

    value: Any
    default: Any
    is_default: bool
    changed_at: str | None
    changed_by: str | None
    title: str
    group: str
    description: str
    read_by: str
    type: str
    choices: list[str] | None
    least: float | None
    most: float | None
    unit: str | None
    secret: bool


class SettingsOut(Schema):
    """Every setting by its name; ``version`` rises with each change of any."""

    version: int
    settings: dict[str, SettingOut]


class ConnectionOut(Schema):
    """The result of a connection test."""

    ok: bool
    message: str
    milliseconds: float


def _setting(state: State) -> dict[str, Any]:
    setting = state.setting
    secret = setting.is_secret
    is_text = setting.kind in (Kind.TEXT, Kind.ADDRESS)
    return {
        "value": {"set": state.is_set} if secret else state.value,
        "default": None if secret else setting.default,
        "is_default": not state.is_set,
        "changed_at": journal.stamp(state.changed_at) if state.changed_at else None,
        "changed_by": state.changed_by or None,
        "title": setting.label,
        "group": setting.group,
        "description": setting.help,
        "read_by": setting.readers,
        "type": setting.kind.value,
        "choices": list(setting.choices()) or None,
        "least": setting.least,
        "most": None if is_text else setting.most,
        "unit": setting.unit or None,
        "secret": secret,
    }


def _page(page: Page) -> dict[str, Any]:
    settings = {state.setting.name: _setting(state) for state in page.states}
    return {"version": page.version, "settings": settings}


# ── The routes ───────────────────────────────────────────────────────────────
@router.get("/settings", response=SettingsOut, operation_id="workspace_settings")
def workspace(request: ApiRequest) -> dict[str, Any]:
    """Get every setting with value, default, who changed it and when; admins only."""
    return _page(workspace_settings.settings_page(request.auth))


@router.patch(
    "/settings", response=SettingsOut, operation_id="change_workspace_settings"
)
def change(request: ApiRequest, data: SettingsIn) -> dict[str, Any]:
    """Change settings, all of them or none; admins only.

    Codes: `bad_setting`; with a `version`, 409 `settings_changed` when a setting was
    changed since.
    """
    by = request.auth
    changes = data.model_dump(include=data.model_fields_set - {"version"})
    workspace_settings.change(changes, by=by, version=data.version)
    return _page(workspace_settings.settings_page(by))


@router.post(
    "/settings/remote_provider/test",
    response=ConnectionOut,
    operation_id="test_remote_provider",
)
def test_remote_provider(request: ApiRequest) -> connection.Outcome:
    """Test the remote provider with its health and one recall; admins only."""
    return connection.test(by=request.auth)
