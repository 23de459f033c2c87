"""URLs of this package's pages, section by section."""

from __future__ import annotations

from django.urls import include, path

from memory.web import (
    conformance_views,
    files_views,
    gateway_views,
    import_views,
    jobs_views,
    journal_counts_views,
    journal_views,
    learning_views,
    member_views,
    provider_views,
    quarantine_views,
    records_views,
    rule_views,
    saved_view_views,
    settings_views,
    webhook_views,
    workspace_views,
)

JOURNAL = [
    path("", journal_views.entries, name="journal"),
    path("arrived/", journal_counts_views.arrived, name="arrived"),
    path("calendar/", journal_counts_views.calendar, name="calendar"),
    path("counts/", journal_counts_views.counts, name="counts"),
    path("import/", import_views.import_entries, name="import"),
    path("export/", journal_counts_views.export_entries, name="export"),
    path("verify/", journal_views.verify, name="verify"),
    path("<slug:entry_id>/", journal_views.entry, name="entry"),
    path("<slug:entry_id>/priority/", journal_views.priority, name="priority"),
]
QUARANTINE = [
    path("", quarantine_views.inbox_page, name="inbox"),
    path("filters/", saved_view_views.save, {"page": "quarantine"}, name="save_filter"),
    path(
        "filters/<int:view_id>/forget/",
        saved_view_views.forget,
        {"page": "quarantine"},
        name="forget_filter",
    ),
    path("many/", quarantine_views.many, name="many"),
    path("rescan/", quarantine_views.rescan, name="rescan"),
    path("rules/", rule_views.rules, name="rules"),
    path("rules/policy/", rule_views.policy_change, name="policy"),
    path("rules/learned/", learning_views.learned, name="learned"),
    path(
        "rules/learned/<str:proposal_id>/",
        learning_views.decide,
        name="decide_learned",
    ),
    path("rules/<str:rule_id>/", rule_views.rule, name="rule"),
    path("labels/", learning_views.export_labels, name="export_labels"),
    path("<slug:held_id>/", quarantine_views.case, name="case"),
    path("<slug:held_id>/decision/", quarantine_views.decide, name="decide"),
    path("<slug:held_id>/redaction/", quarantine_views.redaction, name="redaction"),
    path("<slug:held_id>/claim/", quarantine_views.claim, name="claim"),
    path("<slug:held_id>/undo/", quarantine_views.undo, name="undo"),
    path("<slug:held_id>/alike/", quarantine_views.similar, name="alike"),
]
FILES = [
    path("", files_views.browse_files, name="browse"),
    path("open/", files_views.open_file, name="open"),
    path("<str:owner_id>/<path:label>/versions/", files_views.history, name="versions"),
    path("<str:owner_id>/<path:label>/restore/", files_views.restore, name="restore"),
    path("<str:owner_id>/<path:label>/", files_views.file, name="file"),
]
RECORDS = [
    path("", records_views.listing, name="list"),
    path("many/", records_views.many, name="many"),
    path("<str:record_id>/", records_views.detail, name="detail"),
    path("<str:record_id>/edit/", records_views.edit, name="edit"),
    path("<str:record_id>/supersede/", records_views.supersede, name="supersede"),
    path("<str:record_id>/forget/", records_views.forget, name="forget"),
]
VIEWS = [
    path("<str:page>/", saved_view_views.save, name="save"),
    path("<str:page>/<int:view_id>/forget/", saved_view_views.forget, name="forget"),
]
JOBS = [
    path("", jobs_views.job_list, name="board"),
    path("<slug:name>/", jobs_views.history, name="history"),
    path("<slug:name>/run/", jobs_views.run, name="run"),
    path("<slug:name>/runs/<int:run_id>/", jobs_views.run_page, name="work"),
    path("<slug:name>/runs/<int:run_id>/repeat/", jobs_views.repeat, name="repeat"),
]
# crewship_memory/urls.py joins these with those of the other packages.
WORKSPACE = [
    path("keys/", workspace_views.key_list, name="keys"),
    path("keys/person/", workspace_views.operator_key, name="operator_key"),
    path("keys/<str:key_id>/revoke/", workspace_views.revoke, name="revoke"),
    path("gateway/", gateway_views.gateway, name="gateway"),
    path("gateway/turns/", gateway_views.setup, name="gateway_setup"),
    path(
        "gateway/turns/<str:setup_id>/remove/",
        gateway_views.remove,
        name="gateway_remove",
    ),
    path("gateway/<str:key_id>/revoke/", gateway_views.revoke, name="gateway_revoke"),
    path("settings/", settings_views.settings_page, name="settings"),
    path(
        "settings/remote-provider/test/",
        settings_views.test_connection,
        name="test_remote",
    ),
    path("settings/<str:name>/", settings_views.change, name="change_setting"),
    path("settings/<str:name>/reset/", settings_views.reset, name="reset_setting"),
    path("members/", member_views.members, name="members"),
    path("members/many/", member_views.many, name="members_many"),
    path(
        "members/invited/<str:invitation_id>/link/",
        member_views.resend,
        name="invitation_resend",
    ),
    path(
        "members/invited/<str:invitation_id>/withdraw/",
        member_views.withdraw,
        name="invitation_withdraw",
    ),
    path("members/<str:member_id>/", member_views.member, name="member"),
    path("members/<str:member_id>/link/", member_views.link, name="member_link"),
    path("members/<str:member_id>/remove/", member_views.remove, name="remove"),
    path("webhooks/", webhook_views.webhook_list, name="webhooks"),
    path("webhooks/<str:webhook_id>/remove/", webhook_views.remove, name="unhook"),
    path("webhooks/<str:webhook_id>/switch/", webhook_views.switch, name="switch_hook"),
    path("webhooks/<str:webhook_id>/test/", webhook_views.test, name="test_hook"),
    path("webhooks/delivery/<str:delivery_id>/", webhook_views.replay, name="replay"),
]
urlpatterns = [
    path("journal/", include((JOURNAL, "memory"))),
    path("quarantine/", include((QUARANTINE, "quarantine"))),
    path("files/", include((FILES, "files"))),
    path("records/", include((RECORDS, "records"))),
    path("jobs/", include((JOBS, "jobs"))),
    path("views/", include((VIEWS, "views"))),
    path("providers/", provider_views.provider_list, name="providers"),
    path("providers/<str:name>/use/", provider_views.choose, name="provider_choose"),
    path("providers/<str:name>/run/", provider_views.run, name="provider_run"),
    path("conformance/", conformance_views.overview, name="conformance"),
    path("conformance/run/", conformance_views.run, name="conformance_run"),
]
