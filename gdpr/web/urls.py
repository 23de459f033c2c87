"""Addresses of the privacy pages."""

from __future__ import annotations

from django.urls import path

from gdpr.web import case_views, subject_views, views
from gdpr.web.case_actions import ACTIONS as CASE_ACTIONS
from gdpr.web.subject_actions import ACTIONS as SUBJECT_ACTIONS

app_name = "privacy"
urlpatterns = [
    path("", case_views.index, name="entrance"),
    # Cases
    path("cases/", case_views.case_list, name="cases"),
    path("cases/new/", case_views.new, name="new_case"),
    path("cases/many/", case_views.act_on_many, name="many_cases"),
    path("cases/<str:case_id>/", case_views.detail, name="case"),
    path("cases/<str:case_id>/samples/", case_views.samples, name="samples"),
    *(
        path(
            f"cases/<str:case_id>/{action}/",
            case_views.act,
            {"action": action},
            name=action,
        )
        for action in CASE_ACTIONS
    ),
    path("cases/<str:case_id>/certificate/", views.certificate, name="certificate"),
    path(
        "cases/<str:case_id>/certificate.json",
        views.certificate_file,
        name="certificate_file",
    ),
    # Subjects
    path("subjects/", subject_views.listing, name="subjects"),
    path("subjects/new/", subject_views.new, name="new_subject"),
    path("subjects/<str:subject_id>/", subject_views.detail, name="subject"),
    path("subjects/<str:subject_id>/names/", subject_views.reveal, name="reveal"),
    *(
        path(
            f"subjects/<str:subject_id>/{row.path}",
            subject_views.act,
            {"action": action},
            name=action,
        )
        for action, row in SUBJECT_ACTIONS.items()
    ),
    # Holds, certificates, audit log, exports, suppressed names, settings
    path("holds/", views.holds_page, name="holds"),
    path("holds/<str:hold_id>/release/", views.release, name="release"),
    path("certificates/", views.certificates_page, name="certificates"),
    path(
        "certificates/<str:certificate_id>.json",
        views.certificate_file,
        name="any_certificate_file",
    ),
    path(
        "certificates/<str:certificate_id>/",
        views.certificate,
        name="any_certificate",
    ),
    path("ledger/", views.audit_log_page, name="ledger"),
    path("exports/", views.exports_page, name="exports"),
    path("exports/<str:export_id>/download/", views.download, name="download"),
    path("exports/<str:export_id>/remove/", views.remove_export, name="remove_export"),
    path("kept-out/", views.suppressions_page, name="kept_out"),
    path("kept-out/<int:row_id>/lift/", views.lift_suppression, name="let_back"),
    path("settings/", views.settings_page, name="settings"),
]
