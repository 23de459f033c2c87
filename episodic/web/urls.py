"""URLs of this package's pages, section by section."""

from __future__ import annotations

from django.urls import include, path

from episodic.web import (
    agent_views,
    check_views,
    health_views,
    index_views,
    map_views,
    proposal_views,
    question_views,
    recall_views,
)

RECALL = [
    path("", recall_views.recall, name="recall"),
    path("what-if/", recall_views.what_if, name="what_if"),
    path("checks/", check_views.checks, name="checks"),
    path("checks/save/", check_views.save, name="check_save"),
    path("checks/run/", check_views.rerun, name="checks_run"),
    path("checks/<slug:check_id>/run/", check_views.run, name="check_run"),
    path("checks/<slug:check_id>/name/", check_views.rename, name="check_rename"),
    path("checks/<slug:check_id>/delete/", check_views.drop, name="check_drop"),
    path("questions/", question_views.questions, name="questions"),
    path("questions/empty/", question_views.empty, name="questions_empty"),
    path("index/", index_views.index, name="index"),
    path("index/run/", index_views.index_run, name="index_run"),
    path("entries/<slug:entry_id>/", recall_views.entry_weight, name="entry_weight"),
    path("entries/<slug:entry_id>/index/", index_views.index_entry, name="index_entry"),
]
HEALTH = [
    path("", health_views.page, name="page"),
    path("fix/<slug:kind>/", health_views.fix, name="fix"),
    path("accept/", health_views.accept, name="accept"),
    path("duplicates/", health_views.duplicate_pairs, name="duplicates"),
    path("duplicates/merge/", health_views.merge, name="merge"),
    path("accepted/<slug:acceptance_id>/reopen/", health_views.reopen, name="reopen"),
]
MAP = [
    path("", map_views.page, name="page"),
    path("points/", map_views.points, name="points"),
    path("compute/", map_views.compute, name="compute"),
]
PROPOSALS = [
    path("", proposal_views.listing, name="list"),
    path("run/", proposal_views.run, name="run"),
    path("many/", proposal_views.many, name="many"),
    path("<slug:proposal_id>/", proposal_views.detail, name="detail"),
    path("<slug:proposal_id>/approve/", proposal_views.approve, name="approve"),
    path("<slug:proposal_id>/reject/", proposal_views.reject, name="reject"),
    path("<slug:proposal_id>/undo/", proposal_views.undo, name="undo"),
]
WORKSPACE = [
    path("agents/", agent_views.agents, name="agents"),
    path("agents/crew/", agent_views.add_crew, name="add_crew"),
    path("agents/<str:agent_id>/", agent_views.agent, name="agent"),
    path(
        "agents/<str:agent_id>/keys/<str:key_id>/revoke/",
        agent_views.revoke_key,
        name="agent_key_revoke",
    ),
    path("crews/<str:crew_id>/", agent_views.crew, name="crew"),
]
urlpatterns = [
    path("recall/", include((RECALL, "episodic"))),
    path("health/", include((HEALTH, "health"))),
    path("map/", include((MAP, "map"))),
    path("proposals/", include((PROPOSALS, "proposals"))),
]
