"""The forms of the records' pages: the filters, an edit, a successor, a farewell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django import forms
from django.http import QueryDict

from memory import records
from memory.journal import queries
from memory.records import KEEP, Amendment, Provenance, Wanted, drafts
from memory.rules import scopes
from memory.rules.permissions import Actor
from memory.rules.scopes import Scope
from memory.web.journal_forms import MomentField

STATES: Final = (
    ("current", "Current"),
    ("superseded", "Superseded"),
    ("expired", "Expired"),
    ("forgotten", "Forgotten"),
    ("all", "All"),
)
_ALL_STATUSES: Final = ("current", "superseded", "forgotten")
FROM: Final = {
    Provenance.USER_REQUESTED.value: "asked for by a user",
    Provenance.AGENT_EXTRACTED.value: "noticed by an agent",
    Provenance.SYSTEM_GENERATED.value: "made by the system",
    Provenance.OPERATOR_CURATED.value: "curated by an operator",
}


def _text(label: str, limit: int = 256) -> forms.CharField:
    return forms.CharField(label=label, required=False, max_length=limit)


def _choice(label: str) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, required=False)


class RecordFilterForm(forms.Form):
    """The filters of the list."""

    q = _text("Words", 500)
    state = _choice("State")
    agent_id = _choice("Agent")
    crew_id = _choice("Crew")
    type = _choice("Type")
    provenance = _choice("From")
    user = _text("Scope, user")
    namespace = _text("Scope, namespace")
    thread = _text("Scope, thread")
    external_id = _text("External id", drafts.EXTERNAL_CHARS)

    PRIMARY: Final = ("q", "state", "agent_id", "type", "provenance")
    SECONDARY: Final = ("crew_id", "user", "namespace", "thread", "external_id")

    def __init__(self, data: QueryDict, *, by: Actor) -> None:
        super().__init__(data, auto_id="f-%s")
        self._offer("state", STATES, none="")
        agents = [(a.id, f"{a.slug} · {a.crew.slug}") for a in queries.agents(by)]
        self._offer("agent_id", agents)
        self._offer("crew_id", [(c.id, c.slug) for c in queries.crews(by)])
        self._offer("type", [(kind, kind) for kind in records.kinds(by=by)])
        self._offer("provenance", list(FROM.items()))
        self.fields["q"].widget.input_type = "search"
        self.fields["q"].widget.attrs["placeholder"] = "A piece of the statement"

    def _offer(
        self, name: str, choices: Sequence[tuple[str, str]], none: str = "Any"
    ) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  (declared above)
        field.choices = [*([("", none)] if none else []), *choices]

    @property
    def chosen_state(self) -> str:
        """The state asked for, current when it is none that is known."""
        state = str(self.data.get("state") or "current")
        return state if state in dict(STATES) else "current"

    @property
    def primary(self) -> list[forms.BoundField]:
        """The fields that are always in view."""
        return [self[name] for name in self.PRIMARY]

    @property
    def secondary(self) -> list[forms.BoundField]:
        """The fields behind "More filters"."""
        return [self[name] for name in self.SECONDARY]

    @property
    def shows_secondary(self) -> bool:
        """Whether a filter behind "More filters" is set."""
        return any(self.data.get(name) for name in self.SECONDARY)

    @property
    def is_narrow(self) -> bool:
        """Whether any filter is set, or another state than the first."""
        return self.chosen_state != "current" or any(
            self.data.get(name)
            for name in (*self.PRIMARY, *self.SECONDARY)
            if name != "state"
        )

    def record_filter(self) -> Wanted | None:
        """Return the service's own form, None when a field is at fault."""
        if not self.is_valid():
            return None
        fields = self.cleaned_data
        scope_names = {name: str(fields.get(name) or "") for name in scopes.NAMES}
        state = self.chosen_state
        return Wanted(
            crew_id=fields["crew_id"] or None,
            agent_id=fields["agent_id"] or None,
            scope=Scope.of(scope_names),
            kinds=(fields["type"],) if fields["type"] else (),
            provenances=(fields["provenance"],) if fields["provenance"] else (),
            external_id=fields["external_id"],
            statuses=_ALL_STATUSES if state == "all" else (_status(state),),
            expired={"current": False, "expired": True}.get(state),
            text=fields["q"],
        )


def _status(state: str) -> str:
    return "current" if state == "expired" else state


class EditForm(forms.Form):
    """What a person may change of a record; the version is the one that was read."""

    content = forms.CharField(
        label="Statement",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="Scanned like every write, then kept as the next version by you.",
    )
    kind = forms.CharField(label="Type", max_length=drafts.KIND_CHARS)
    confidence = forms.FloatField(
        label="Confidence",
        min_value=0,
        max_value=1,
        widget=forms.NumberInput(attrs={"step": "0.05"}),
        help_text="0 to 1.",
    )
    expires_at = MomentField(
        label="Expires", help_text="A day or a time, UTC. Optional."
    )
    reason = forms.CharField(
        label="Why", required=False, max_length=1_000, help_text="Kept in the history."
    )
    version = forms.IntegerField(widget=forms.HiddenInput, min_value=1)

    def amendment(self) -> Amendment:
        """Return the service's own form."""
        fields = self.cleaned_data
        due = fields["expires_at"]
        return Amendment(
            content=fields["content"].replace("\r\n", "\n"),
            kind=fields["kind"],
            confidence=fields["confidence"],
            expires_at=due if due or "expires_at" in self.data else KEEP,
        )


class SupersedeForm(forms.Form):
    """The statement that takes a record's place."""

    content = forms.CharField(
        label="The statement that holds instead",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="A new record in the same place; this one stays in the history.",
    )
    reason = forms.CharField(label="Why", required=False, max_length=1_000)


def reason_of(data: Any) -> str:
    """Return the reason a form gave, without blanks around it."""
    return str(data.get("reason", "")).strip()
