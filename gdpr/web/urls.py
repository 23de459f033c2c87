"""Addresses of the privacy pages."""

from __future__ import annotations

from django.urls import path

from gdpr.web import (
    bundle_views,
    case_views,
    export_views,
    letter_urls,
    recipient_views,
    report_views,
    retention_views,
    subject_views,
    views,
)
from gdpr.web.case_actions import ACTIONS as CASE_ACTIONS
from gdpr.web.subject_actions import ACTIONS as SUBJECT_ACTIONS

app_name = "privacy"
urlpatterns = [
    path("", case_views.index, name="entrance"),
    # Cases
    path("cases/", case_views.case_list, name="cases"),
    path("cases/new/", case_views.new, name="new_case"),
    path("cases/many/", case_views.act_on_many, name="many_cases"),
    path("cases/list.csv", case_views.list_csv, name="cases_csv"),
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
    *letter_urls.PATHS,
    # Recipients
    path(
        "cases/<str:case_id>/recipients/",
        recipient_views.of_case,
        name="case_recipients",
    ),
    *(
        path(
            f"cases/<str:case_id>/recipients/<str:recipient_id>/{part}", view, name=name
        )
        for part, view, name in (
            ("notify/", recipient_views.notify, "notify_recipient"),
            ("not-possible/", recipient_views.decline, "decline_notice"),
            ("answer/", recipient_views.answer, "answer_of_recipient"),
            ("notice.txt", recipient_views.letter, "notice_letter"),
        )
    ),
    path("recipients/", recipient_views.index, name="recipients"),
    path("recipients/days/", recipient_views.change_days, name="answer_days"),
    path(
        "recipients/addresses/<int:contact_id>/remove/",
        recipient_views.remove_contact,
        name="remove_recipient_contact",
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
    path(
        "exports/<str:export_id>/pages/<path:name>",
        bundle_views.bundle_page,
        name="bundle_page",
    ),
    path("exports/<str:export_id>/words/", export_views.words, name="words"),
    path("exports/<str:export_id>/remove/", views.remove_export, name="remove_export"),
    path("kept-out/", views.suppressions_page, name="kept_out"),
    path("kept-out/<int:row_id>/lift/", views.lift_suppression, name="let_back"),
    # Retention
    path("retention/", retention_views.index, name="retention"),
    path("retention/<str:rule_id>/", retention_views.detail, name="retention_rule"),
    path(
        "retention/<str:rule_id>/switch/",
        retention_views.switch,
        name="switch_retention",
    ),
    path(
        "retention/<str:rule_id>/days/",
        retention_views.change_days,
        name="change_retention",
    ),
    path(
        "retention/<str:rule_id>/remove/",
        retention_views.remove,
        name="remove_retention",
    ),
    path("settings/", views.settings_page, name="settings"),
    # Reports, the record of processing, the calendar of deadlines
    path("reports/", report_views.month_page, name="reports"),
    path("reports/month.csv", report_views.month_csv, name="month_csv"),
    path("reports/register/", report_views.register_page, name="register"),
    path("reports/register.csv", report_views.register_csv, name="register_csv"),
    path("reports/audit-log/", report_views.audit_log_file, name="ledger_file"),
    path("processing/", report_views.processing_page, name="processing"),
    path("processing/record.csv", report_views.processing_csv, name="processing_csv"),
    path(
        "processing/confirm/",
        report_views.confirm_many_purposes,
        name="confirm_purposes",
    ),
    path("processing/controller/", report_views.change_controller, name="controller"),
    path(
        "processing/<str:place>/",
        report_views.confirm_processing,
        name="confirm_processing",
    ),
    path("calendar/", report_views.calendar_page, name="calendar"),
    path("calendar/<str:token>.ics", report_views.feed, name="calendar_feed"),
]
