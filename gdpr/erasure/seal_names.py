"""Sealing a person's names for the final search, and restoring or erasing them.

During the search no table may hold a name: not the subject, its aliases or the case. A
run that ends ``partial`` restores the names, because the case goes on; a complete run
deletes the sealed file.
"""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from gdpr import cache_version, linking
from gdpr.cases import leases, sealed_names
from gdpr.erasure import failpoints, process_caches
from gdpr.erasure.run_context import DISPLAY_NAME, Run
from gdpr.matching import patterns
from gdpr.matching.matcher import Name
from gdpr.models import Alias, Case, Subject, SubjectLink
from gdpr.recipients import listing as recipients


def seal(run: Run) -> None:
    """Write the names to the sealed file and erase them from every table."""
    if run.is_rectification:
        _seal_correction(run)
    else:
        _seal_subject(run)
    failpoints.step("names_erased")


def _seal_correction(run: Run) -> None:
    # After a crash between sealing and erasing, the case still holds it.
    wrong, right = run.correction(sealed_names.get(run.case))
    subject_ref = run.case.subject_ref
    names = [Name(subject_ref, "wrong", wrong), Name(subject_ref, "right", right)]
    sealed_names.put(run.case, names)
    failpoints.step("names_sealed")
    leases.erase_texts(run.case)


def _seal_subject(run: Run) -> None:
    subject = run.subject
    of_subject = {"workspace_id": subject.workspace_id, "subject_id": subject.pk}
    names = Alias.names(**of_subject)
    if subject.display_name:
        names.append(Name(subject.id, DISPLAY_NAME, subject.display_name))
    # Another run finds some kept rows only by their links.
    links = SubjectLink.objects.filter(**of_subject)
    sealed_names.put(run.case, names, links.values_list("place", "row_id", "via"))
    failpoints.step("names_sealed")
    _erase_names(subject)
    leases.erase_texts_of(subject.workspace_id, subject.id)
    recipients.erase_texts(subject.workspace_id, subject.id)
    step = run.steps()["processes"]
    counts = process_caches.flush_everywhere(subject.workspace_id, run.check_lease)
    leases.progress(step, step.done, **counts)


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
        linking.link(subject.workspace_id, ((subject.pk, *row) for row in links))
        cache_version.bump(subject.workspace_id)


def finalize(run: Run) -> None:
    """Mark the subject as erased and delete the sealed files."""
    if not run.is_rectification:
        Subject.objects.filter(pk=run.case.subject_ref, erased_at=None).update(
            erased_at=timezone.now(), display_name="", consent_note=""
        )
    sealed_names.drop(run.case)
