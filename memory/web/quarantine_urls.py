"""URLs of the quarantine and the scanner rules."""

from __future__ import annotations

from django.urls import path

from memory.web import quarantine_views as views
from memory.web import rule_views

app_name = "quarantine"
urlpatterns = [
    path("", views.inbox_page, name="inbox"),
    path("filters/", views.save_filter, name="save_filter"),
    path("filters/<int:filter_id>/forget/", views.forget_filter, name="forget_filter"),
    path("rescan/", views.rescan, name="rescan"),
    path("rules/", rule_views.rules, name="rules"),
    path("rules/policy/", rule_views.policy_change, name="policy"),
    path("rules/<str:rule_id>/", rule_views.rule, name="rule"),
    path("<slug:held_id>/", views.case, name="case"),
    path("<slug:held_id>/decision/", views.decide, name="decide"),
    path("<slug:held_id>/redaction/", views.redaction, name="redaction"),
    path("<slug:held_id>/claim/", views.claim, name="claim"),
    path("<slug:held_id>/undo/", views.undo, name="undo"),
    path("<slug:held_id>/alike/", views.similar, name="alike"),
]
