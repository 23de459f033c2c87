"""Answers to programs carry the same Content-Security-Policy as pages."""

from __future__ import annotations

from csp.constants import HEADER
from csp.utils import build_policy
from django.test import Client

from tests.world import World


def test_json_and_pages_have_the_policy_of_the_settings(world: World) -> None:
    key = {"Authorization": f"Bearer {world.tokens['ada']}"}
    answers = [
        Client().get("/api/v1/journal", headers=key),
        Client().get("/api/v1/journal"),
        Client().get("/accounts/login/"),
        Client().get("/api/v1/docs"),
    ]
    assert [answer.status_code for answer in answers] == [200, 401, 200, 200]
    policy = sorted(build_policy().split("; "))
    for answer in answers:
        assert sorted(answer[HEADER].split("; ")) == policy
