"""The forms of the quarantine's pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.utils.translation import gettext, gettext_lazy

from memory.files import policy, scanner_words
from memory.review import context_words, workbench
from memory.review import detail as review_detail
from memory.review.decide import REASON_CHARS, Decision
from memory.review.queue import Choices, HeldFilter
from memory.review.workbench import RuleFilter
from memory.rules.tiers import Tier
from memory.scanner.provenance import Origin, Writer
from memory.web import pages

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise

ANY: Final = ("", gettext_lazy("Any"))
# A span of the text as the page names it: start-end.
SPAN: Final = re.compile(r"[0-9]{1,11}-[0-9]{1,11}\Z")
# The digest of a form that showed no preview.
NO_PREVIEW: Final = "nothing"
AGES: Final = (
    ANY,
    ("hour", gettext_lazy("Last hour")),
    ("day", gettext_lazy("Last day")),
    ("week", gettext_lazy("Last 7 days")),
    ("older", gettext_lazy("Older than 7 days")),
)
PRESETS: Final = (
    ("", gettext_lazy("In my own words")),
    *((reason, gettext_lazy(reason)) for reason in review_detail.REASONS),
)


FAMILIES: Final = [
    (value, scanner_words.word_lazy(words))
    for value, words in workbench.FAMILIES.items()
]


def _labelled(words: Mapping[str, str]) -> list[tuple[str, _StrOrPromise]]:
    """Return the choices of a table, with labels in the reader's language."""
    return [
        (
            value,
            scanner_words.word_lazy(label)
            if scanner_words.is_word(label)
            else gettext_lazy(label),
        )
        for value, label in words.items()
    ]


class FilterForm(forms.Form):
    q = forms.CharField(label=gettext_lazy("Words"), required=False, max_length=100)
    source = forms.ChoiceField(label=gettext_lazy("Source"), required=False)
    agent_id = forms.ChoiceField(label=gettext_lazy("Agent"), required=False)
    family = forms.ChoiceField(label=gettext_lazy("Family"), required=False)
    age = forms.ChoiceField(
        label=gettext_lazy("Received"), required=False, choices=AGES
    )

    def __init__(self, *args: Any, offered: Choices, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sources = [
            (value, gettext(policy.SOURCES.get(value, value)))
            for value in offered.sources
        ]
        families = [(value, scanner_words.word(value)) for value in offered.families]
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
        error_messages={"required": gettext_lazy("Choose what happens to the text.")},
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    preset = forms.ChoiceField(
        label=gettext_lazy("Reason"),
        choices=PRESETS,
        required=False,
        widget=forms.Select(attrs={"aria-label": gettext_lazy("Reason from a list")}),
    )
    reason = forms.CharField(
        label=gettext_lazy("In words"),
        required=False,
        max_length=REASON_CHARS,
        strip=True,
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
            self.add_error("reason", gettext("A decision needs a reason."))
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

    q = forms.CharField(
        label=gettext_lazy("Words or id"), required=False, max_length=100
    )
    family = forms.ChoiceField(
        label=gettext_lazy("Family"), required=False, choices=[ANY, *FAMILIES]
    )
    state = forms.ChoiceField(
        label=gettext_lazy("State"),
        required=False,
        choices=[ANY, *_labelled(workbench.STATES)],
    )
    sort = forms.ChoiceField(
        label=gettext_lazy("Sorted by"),
        required=False,
        choices=_labelled(workbench.SORTS),
    )

    def rule_filter(self) -> RuleFilter:
        """Return the filter for the service; an invalid field is left out."""
        self.is_valid()
        return RuleFilter(**self.cleaned_data)


class TextForm(forms.Form):
    """A text to scan without storing it."""

    text = forms.CharField(
        label=gettext_lazy("Text"),
        max_length=65_536,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
        help_text=gettext_lazy("Scanned, never stored. At most 65,536 characters."),
    )
    source = forms.ChoiceField(
        label=gettext_lazy("As if it came from"),
        choices=_labelled(
            {
                name: words
                for name, words in context_words.ORIGINS.items()
                if name != Origin.PROMPT
            }
        ),
        initial="tool",
    )
    tier = forms.ChoiceField(
        label=gettext_lazy("Into the tier"),
        choices=[
            ("", gettext_lazy("No tier")),
            *((tier.value, tier.value) for tier in Tier),
        ],
        initial=Tier.AGENT.value,
        required=False,
    )
    writer = forms.ChoiceField(
        label=gettext_lazy("Written by"),
        choices=_labelled(context_words.WRITERS),
        initial=Writer.OWN.value,
        required=False,
    )
