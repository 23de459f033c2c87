"""Start-up: registers what this package provides to ``memory``."""

from __future__ import annotations

from typing import Final

from django.db.models.signals import post_delete, post_save

from gdpr import bodies_move, cache_version, linking, lost_keys
from gdpr.cases import legal_holds as case_legal_holds
from gdpr.certificates import keys as signing_keys
from gdpr.erasure import readiness
from gdpr.export import storage
from gdpr.models import Alias, Subject, Suppression
from gdpr.processing import controller
from gdpr.recipients import contacts as recipient_contacts
from memory import bodies_move as memory_bodies_move
from memory import data_folder_adoption
from memory.installation import keys
from memory.ports import legal_holds, serving, subject_linker

_WATCHED_MODELS: Final = (Alias, Subject, Suppression)


def connect() -> None:
    """Register the ports and checks, and watch the tables that hold names."""
    subject_linker.register(linking.Linker())
    legal_holds.register(case_legal_holds.held_entries)
    serving.register(readiness.refusal)
    keys.register_witness("exports", storage.key_opens)
    keys.register_check(signing_keys.problem)
    data_folder_adoption.register(lost_keys.FOLLOWER)
    for mover in bodies_move.MOVERS:
        memory_bodies_move.register(mover)
    controller.declare()
    recipient_contacts.declare()
    for model in _WATCHED_MODELS:
        uid = f"gdpr.cache_version.{model.__name__}"
        post_save.connect(cache_version.on_save, sender=model, dispatch_uid=uid)
        post_delete.connect(cache_version.on_delete, sender=model, dispatch_uid=uid)
