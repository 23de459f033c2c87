"""What can be done to a case from its page: one row per action, run by one view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext, gettext_noop

from gdpr import erasure
from gdpr.cases import actions, dry_run, identity, row_decisions
from gdpr.cases import workflow as cases
from gdpr.cases.row_decisions import Decision
from gdpr.models import Case, CasePlan, Verdict
from gdpr.web.forms import AttachForm, ExtendForm, ReasonForm
from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseAction:
    """One action: called as ``service(case, *values, by=actor)``.

    ``fields`` name the posted values in the order of the service's parameters, then
    come those of ``lists``, each with every value that was posted under its name. With
    a ``form`` the fields are checked by it; without, a missing one is empty text.
    ``message`` is shown afterwards; a function gets the values.
    """

    service: Callable[..., object]
    message: str | Callable[..., str]
    fields: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    form: type[forms.Form] | None = None

    def values(self, data: QueryDict, form: forms.Form | None) -> list[Any]:
        """Return the arguments of the service; ``form`` is valid."""
        if form:
            return [form.cleaned_data[name] for name in self.fields]
        return [
            *(data.get(name, "") for name in self.fields),
            *(data.getlist(name) for name in self.lists),
        ]

    def success(self, values: Sequence[Any]) -> str:
        """Return what the page says when it is done."""
        if isinstance(self.message, str):
            return gettext(self.message)
        return self.message(*values)


def _execute(  # noqa: PLR0913  (the fields of the form)
    case: Case,
    plan_hash: str,
    phrase: str,
    break_glass: str,
    identity_ground: str,
    identity_reason: str,
    *,
    by: Actor,
) -> Case:
    skip = (identity_ground, identity_reason)
    return erasure.start(
        case,
        plan_hash,
        phrase,
        by=by,
        break_glass=break_glass,
        skip_identity=skip if any(skip) else None,
    )


def _decide(  # noqa: PLR0913  (the fields of the form)
    case: Case,
    plan_hash: str,
    button: str,
    ground: str,
    reason: str,
    rows: list[str],
    forms: list[str],
    places: list[str],
    *,
    by: Actor,
) -> CasePlan:
    """Decide on the ticked rows, each "place id", on ticked groups, or on all."""
    spares = button.startswith("spare")
    pairs = [row.split(" ", 1) for row in rows]
    decision = Decision(
        verdict=Verdict.SPARED if spares else Verdict.THEIRS,
        rows=[(pair[0], pair[-1]) for pair in pairs],
        all_doubtful=button.endswith("all"),
        forms=forms,
        places=places,
        ground=ground if spares else "",
        reason=reason if spares else "",
    )
    return row_decisions.decide(case, plan_hash, decision, by=by)


def _assigned(assignee: str) -> str:
    if not assignee:
        return gettext("Assigned to nobody")
    return gettext("Assigned to {person}").format(person=assignee)


# The name of an action is its URL's last part and its URL's name.
ACTIONS: Final = {
    "identity": CaseAction(
        service=identity.verify,
        fields=("how",),
        message=gettext_noop("Identity verified"),
    ),
    "skip_identity": CaseAction(
        service=identity.skip,
        fields=("identity_ground", "identity_reason"),
        message=gettext_noop(
            "It goes on without an identity check; the certificate will say so"
        ),
    ),
    "plan": CaseAction(
        service=dry_run.make,
        message=gettext_noop("The dry run is done. Nothing was touched."),
    ),
    "decide": CaseAction(
        service=_decide,
        fields=("of_plan", "decide", "ground", "reason"),
        lists=("row", "form", "place"),
        message=gettext_noop(
            "Decided. The dry run was made again; nothing was touched."
        ),
    ),
    "approve": CaseAction(
        service=cases.approve,
        fields=("plan_hash",),
        message=gettext_noop("Plan approved"),
    ),
    "execute": CaseAction(
        service=_execute,
        fields=(
            "plan_hash",
            "phrase",
            "break_glass",
            "identity_ground",
            "identity_reason",
        ),
        message=gettext_noop("It runs now. This page follows it to the end."),
    ),
    "extend": CaseAction(
        service=actions.extend,
        form=ExtendForm,
        fields=("months", "reason"),
        message=gettext_noop(
            "The deadline is extended. Tell the person, with the reason."
        ),
    ),
    "refuse": CaseAction(
        service=actions.refuse,
        form=ReasonForm,
        fields=("reason",),
        message=gettext_noop("The request is refused"),
    ),
    "assign": CaseAction(
        service=actions.assign,
        fields=("assignee",),
        message=_assigned,
    ),
    "comment": CaseAction(
        service=actions.comment,
        fields=("text",),
        message=gettext_noop("Comment added"),
    ),
    "attach": CaseAction(
        service=actions.attach,
        form=AttachForm,
        fields=("name", "sha256", "size"),
        message=gettext_noop("Noted by its hash; the file was not kept"),
    ),
}
