"""Two agents side by side on the recall page."""

from __future__ import annotations

from tests.world import World


def compared(world: World, **query: str) -> tuple[int, str]:
    """Return status and page of a question that ada and bob are asked."""
    fields = {
        "query": "refund",
        "agent_id": world.agents["ada"].id,
        "against": "agent",
        "against_agent_id": world.agents["bob"].id,
        **query,
    }
    response = world.page("viewer").get("/recall/", fields)
    return response.status_code, response.content.decode()


def test_two_agents_have_their_own_answers(world: World) -> None:
    world.indexed("Refund of ada", by="ada")
    world.indexed("Refund of bob", by="bob")
    _, text = compared(world)
    assert "ada, hybrid, convex against bob, hybrid, convex" in text
    assert "1 entered, 1 left, 0 moved" in text


def test_an_agent_against_the_whole_workspace(world: World) -> None:
    world.indexed("Refund of ada", by="ada")
    world.indexed("Refund of bob", by="bob")
    _, text = compared(world, against_agent_id="")
    assert "against whole workspace, hybrid, convex" in text
    assert "1 entered, 0 left" in text


def test_an_agent_next_door_cannot_be_compared(world: World) -> None:
    status, text = compared(world, against_agent_id=world.agents["olga"].id)
    assert status == 422
    assert "olga" not in text.replace(world.agents["olga"].id, "")


def test_a_scope_that_needs_an_agent_is_a_fault_beside_the_field(world: World) -> None:
    world.indexed("Refund of ada", by="ada")
    status, text = compared(world, against_agent_id="", scope="own")
    assert status == 422
    assert 'id="r-against_agent_id_error"' in text
