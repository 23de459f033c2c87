"""People that tests of several pages need."""

from __future__ import annotations

import pytest

from memory.models import User
from tests.world import PASSWORD, World


@pytest.fixture
def other_admin(world: World) -> User:
    """Return the admin of another workspace, with a password of their own."""
    user = world.people["stranger"]
    user.set_password(PASSWORD)
    user.save()
    return user
