"""The forms of the quarantine's pages."""

from __future__ import annotations

import re
from typing import Any, Final

from django import forms

from memory.files import policy
from memory.review import detail as review_detail
from memory.review import workbench
from memory.review.decide import REASON_CHARS, Decision
from memory.review.queue import Choices, HeldFilter
from memory.review.workbench import RuleFilter
from memory.web import pages

ANY: Final = ("", "Any")
# A span of the text as the page names it: start-end.
SPAN: Final = re.compile(r"[0-9]{1,11}-[0-9]{1,11}\Z")
# The digest of a form that showed no preview.
NO_PREVIEW: Final = "nothing"
AGES: Final = (
    ANY,
    ("hour", "Last hour"),
    ("day", "Last day"),
    ("week", "Last 7 days"),
    ("older", "Older than 7 days"),
)
PRESETS: Final = (
    ("", "In my own words"),
    *((reason, reason) for reason in review_detail.REASONS),
)


class FilterForm(forms.Form):
    q = forms.CharField(label="Words", required=False, max_length=100)
    source = forms.ChoiceField(label="Source", required=False)
    agent_id = forms.ChoiceField(label="Agent", required=False)
    family = forms.ChoiceField(label="Family", required=False)
    age = forms.ChoiceField(label="Received", required=False, choices=AGES)

    def __init__(self, *args: Any, offered: Choices, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sources = [
            (value, policy.SOURCES.get(value, value)) for value in offered.sources
        ]
        families = [(value, value.replace("_", " ")) for value in offered.families]
        lists = {"source": sources, "agent_id": offered.agents, "family": families}
        for name, options in lists.items():
            pages.offer(self, name, [ANY, *options])

    def held_filter(self, state: str) -> HeldFilter:
        """Return the filter for the service; an invalid field is left out."""
        self.is_valid()
        fields = {name: value for name, value in self.cleaned_data.items() if value}
        return HeldFilter(state=state, **fields)


class DecisionForm(forms.Form):
    """A decision with its reason: a preset, free text, or both."""

    decision = forms.ChoiceField(
        choices=[
            (decision.value, words[0])
            for decision, words in review_detail.DECISIONS.items()
        ],
        error_messages={"required": "Choose what happens to the text."},
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    preset = forms.ChoiceField(
        label="Reason",
        choices=PRESETS,
        required=False,
        widget=forms.Select(attrs={"aria-label": "Reason from a list"}),
    )
    reason = forms.CharField(
        label="In words", required=False, max_length=REASON_CHARS, strip=True
    )
    span = forms.MultipleChoiceField(required=False)
    start = forms.IntegerField(required=False, min_value=0)
    end = forms.IntegerField(required=False, min_value=1)
    seen = forms.CharField(required=False, max_length=64)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The service checks the spans against the text.
        sent = self.data.getlist("span") if hasattr(self.data, "getlist") else []
        pages.offer(self, "span", [(span, span) for span in sent if SPAN.match(span)])

    def clean(self) -> dict[str, Any]:
        """Join preset and free text; one of the two is required."""
        fields = super().clean() or {}
        parts = [fields.get("preset") or "", fields.get("reason") or ""]
        fields["why"] = ". ".join(part.rstrip(".") for part in parts if part)
        if not fields["why"]:
            self.add_error("reason", "A decision needs a reason.")
        return fields

    @property
    def selected_decision(self) -> Decision:
        return Decision(self.cleaned_data["decision"])

    @property
    def preview_digest(self) -> str:
        """The digest of the remaining text on the page; never empty: it is checked."""
        return self.cleaned_data.get("seen") or NO_PREVIEW

    @property
    def redactions(self) -> list[tuple[int, int]]:
        """Return the selected spans and the typed one, as pairs."""
        fields = getattr(self, "cleaned_data", {})
        parts = []
        for span in fields.get("span", []):
            first, _, last = span.partition("-")
            parts.append((int(first), int(last)))
        start, end = fields.get("start"), fields.get("end")
        if start is not None and end is not None:
            parts.append((start, end))
        return parts


class RuleFilterForm(forms.Form):
    """Which scanner rules are listed, and in which order."""

    q = forms.CharField(label="Words or id", required=False, max_length=100)
    family = forms.ChoiceField(
        label="Family", required=False, choices=[ANY, *workbench.FAMILIES.items()]
    )
    state = forms.ChoiceField(
        label="State", required=False, choices=[ANY, *workbench.STATES.items()]
    )
    sort = forms.ChoiceField(
        label="Sorted by", required=False, choices=[*workbench.SORTS.items()]
    )

    def rule_filter(self) -> RuleFilter:
        """Return the filter for the service; an invalid field is left out."""
        self.is_valid()
        return RuleFilter(**self.cleaned_data)


class TextForm(forms.Form):
    """A text to scan without storing it."""

    text = forms.CharField(
        label="Text",
        max_length=65_536,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
        help_text="Scanned, never stored. At most 65,536 characters.",
    )
    source = forms.ChoiceField(
        label="As if it came from", choices=[*policy.SOURCES.items()], initial="tool"
    )
