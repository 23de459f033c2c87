"""Upgrading: memberships stay, unconfirmed addresses are deleted."""

from __future__ import annotations

from importlib import import_module

from allauth.account.models import EmailAddress
from django.apps import apps

from memory.accounts import login_links
from memory.models import Invitation, Membership
from tests.world import World

forget = import_module("memory.migrations.0019_unproven_addresses").forget


def test_addresses_that_nobody_confirmed_are_forgotten(world: World) -> None:
    members = set(Membership.objects.values_list("pk", "role"))
    viewer, owner = world.people["viewer"], world.people["owner"]
    login_links.mark_proven(owner)
    EmailAddress.objects.create(user=viewer, email=viewer.email, primary=True)
    EmailAddress.objects.create(user=viewer, email="boss@b.example", verified=True)
    EmailAddress.objects.create(user=owner, email="ceo@b.example")
    forget(apps, None)
    assert list(EmailAddress.objects.values_list("email", flat=True)) == [owner.email]
    assert login_links.is_proven(owner)
    assert not login_links.is_proven(viewer)
    assert set(Membership.objects.values_list("pk", "role")) == members
    assert not Invitation.objects.exists()
