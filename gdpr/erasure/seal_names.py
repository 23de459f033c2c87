"""Sealing a person's names for the final search, and restoring or erasing them.

During the search no table may hold a name: not the subject, its aliases or the case. A
run that ends ``partial`` restores the names, because the case goes on; a complete run
deletes the sealed file.
"""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from gdpr import cache_version
from gdpr.cases import leases, sealed_names
from gdpr.erasure import failpoints, flush_processes
from gdpr.erasure.run_context import DISPLAY_NAME, Run
from gdpr.matching import patterns
from gdpr.matching.matcher import Name
from gdpr.models import Alias, Case, Subject, SubjectLink


def seal(run: Run) -> None:
    """Write the names to the sealed file and erase them from every table."""
    subject = run.case.subject
    assert subject is not None  # noqa: S101
    if run.is_rectification:
        sealed_names.put(run.case, _correction(run))
    else:
        sealed_names.put(run.case, _names(subject), _links(subject))
    failpoints.step("names_sealed")
    if run.is_rectification:
        leases.erase_texts(run.case)
    else:
        _erase_names(subject)
        leases.erase_texts_of(subject.workspace_id, subject.id)
        flush_processes.flush_again(run)
    failpoints.step("names_erased")


def _names(subject: Subject) -> list[Name]:
    aliases = Alias.objects.filter(
        workspace_id=subject.workspace_id, subject_id=subject.pk
    )
    names = [Name(subject.id, alias.kind, alias.value) for alias in aliases]
    if subject.display_name:
        names.append(Name(subject.id, DISPLAY_NAME, subject.display_name))
    return names


def _links(subject: Subject) -> list[sealed_names.Link]:
    """Return the links to kept rows: another run finds some rows only by them."""
    rows = SubjectLink.objects.filter(
        workspace_id=subject.workspace_id, subject_id=subject.pk
    )
    return list(rows.values_list("place", "row_id", "via"))


def _correction(run: Run) -> list[Name]:
    # After a crash between sealing and erasing, the case still holds it.
    wrong, right = run.correction(sealed_names.get(run.case))
    subject_ref = run.case.subject_ref
    return [Name(subject_ref, "wrong", wrong), Name(subject_ref, "right", right)]


def _erase_names(subject: Subject) -> None:
    """Erase a subject's names and links; its row stays for its cases."""
    of_subject = {"workspace_id": subject.workspace_id, "subject_id": subject.pk}
    with transaction.atomic():
        Alias.objects.filter(**of_subject).delete()
        SubjectLink.objects.filter(**of_subject).delete()
        Subject.objects.filter(pk=subject.pk).update(display_name="", consent_note="")


def restore(run: Run) -> None:
    """Write the sealed names back to their tables."""
    names = sealed_names.get(run.case)
    subject = run.case.subject
    if names is None or subject is None:
        return
    if run.is_rectification:
        correction = {"wrong": names[0].value, "right": names[1].value}
        Case.objects.filter(pk=run.case.pk).update(correction=correction)
    else:
        _restore_names(subject, names, sealed_names.links(run.case))
    sealed_names.drop_names(run.case)


def _restore_names(
    subject: Subject, names: list[Name], links: list[sealed_names.Link]
) -> None:
    aliases = [
        Alias(
            workspace_id=subject.workspace_id,
            subject=subject,
            kind=name.kind,
            value=name.value,
            folded=patterns.folded(name.kind, name.value),
            added_by="gdpr",
            swept_at=timezone.now(),
        )
        for name in names
        if name.kind != DISPLAY_NAME
    ]
    with transaction.atomic():
        display_name = next(
            (name.value for name in names if name.kind == DISPLAY_NAME), ""
        )
        Subject.objects.filter(pk=subject.pk).update(display_name=display_name)
        Alias.objects.bulk_create(aliases, ignore_conflicts=True)
        SubjectLink.objects.bulk_create(
            [
                SubjectLink(
                    workspace_id=subject.workspace_id,
                    subject_id=subject.pk,
                    place=place,
                    row_id=row_id,
                    via=via,
                )
                for place, row_id, via in links
            ],
            ignore_conflicts=True,
            batch_size=500,
        )
        cache_version.bump(subject.workspace_id)


def finalize(run: Run) -> None:
    """Mark the subject as erased and delete the sealed files."""
    if not run.is_rectification:
        Subject.objects.filter(pk=run.case.subject_ref, erased_at=None).update(
            erased_at=timezone.now(), display_name="", consent_note=""
        )
    sealed_names.drop(run.case)
