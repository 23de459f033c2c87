"""What the second floor gives the ground floor at start-up."""

from __future__ import annotations

from typing import Final

from django.db.models.signals import post_delete, post_save

from gdpr import digest, giving_up, holds, links, resting, signing_keys, stamps, tasks
from gdpr.models import Alias, Subject, Suppression
from memory import adoption, holding, installation, people

_TOLD: Final = (Alias, Subject, Suppression)


def connect() -> None:
    """Fill the ports, and listen to the tables that the port's names come from."""
    digest.install()
    tasks.install()
    people.register(links.Linker())
    holding.register(holds.kept)
    installation.register_witness("exports", resting.key_opens)
    installation.register_check(signing_keys.problem)
    adoption.register(giving_up.FOLLOWER)
    for model in _TOLD:
        uid = f"gdpr.stamps.{model.__name__}"
        post_save.connect(stamps.on_save, sender=model, dispatch_uid=uid)
        post_delete.connect(stamps.on_delete, sender=model, dispatch_uid=uid)
