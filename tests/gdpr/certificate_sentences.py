"""Every sentence that a certificate can hold, and the test that would make it false.

``MODULES`` are the modules whose constants are such sentences. A new one there fails
``test_certificate_sentences.py`` until it has its line here.
"""

from __future__ import annotations

from typing import Final

MODULES: Final = (
    "gdpr.certificates.limits",
    "gdpr.certificates.statement",
    "gdpr.data_map.letters",
    "gdpr.data_map.registry",
    "gdpr.erasure.certified_facts",
    "gdpr.erasure.finish",
    "gdpr.matching.forms",
    "gdpr.verification.byte_search",
    "gdpr.verification.postgres",
    "gdpr.verification.search",
    "gdpr.verification.second_search",
    "gdpr.verification.server_files",
    "gdpr.verification.statements",
    "gdpr.verification.write_ahead_log",
)
# Constants of these modules that are in no certificate, and why.
NOT_SIGNED: Final = {
    "gdpr.data_map.letters.UNSENT": "why a letter goes, in a plan",
    "gdpr.verification.second_search.BY_SECOND": "a trace, in a case's residue",
    "gdpr.verification.search.STRINGS": "a trace, in a case's residue",
    "gdpr.verification.search.STALE_WORDS": "a trace, in a case's residue",
}
_LISTS: Final = "tests/gdpr/test_certificate_lists.py::"
_VERIFICATION: Final = "tests/gdpr/test_verification.py::"
_POSTGRES: Final = "tests/gdpr/test_postgres_verification.py::"
_LOG: Final = "tests/gdpr/test_write_ahead_log.py::"
_LETTERS: Final = "tests/gdpr/test_letters_erasure.py::"
_OUT_OF_REACH: Final = _LISTS + "test_copies_elsewhere_and_memory_are_not_searched"
TESTS: Final = {
    # ── What was not searched, what is not proved ────────────────────────────
    "gdpr.certificates.limits.OTHER_WORKSPACES": _LISTS
    + "test_another_workspace_erases_for_itself",
    "gdpr.certificates.limits.MODELS": _OUT_OF_REACH,
    "gdpr.certificates.limits.REQUESTS_STAY": "tests/gdpr/test_rectification_exports.py"
    "::test_a_correction_after_an_export_is_complete",
    "gdpr.certificates.limits.RECIPIENTS": "tests/gdpr/test_recipients.py::"
    "test_a_certificate_counts_the_notices_that_are_not_out_yet",
    "gdpr.certificates.limits.SEALED_FOR_PROVIDER": "tests/gdpr/"
    "test_recipient_notices.py::"
    "test_identifiers_are_kept_no_longer_than_the_certificate_says",
    "gdpr.certificates.limits.BACKUPS": _LISTS
    + "test_backups_are_named_with_their_day",
    "gdpr.certificates.limits.BACKUPS_RECTIFIED": _LISTS
    + "test_backups_are_named_with_their_day",
    "gdpr.certificates.limits.BACKUPS_RECORDED": "tests/project/test_backup_drill.py::"
    "test_the_certificate_counts_the_backups_on_record",
    "gdpr.certificates.limits.UNREGISTERED": _LISTS
    + "test_what_nobody_registered_stays",
    "gdpr.certificates.limits.LONGER_WORDS": _LISTS + "test_a_longer_word_stays",
    "gdpr.certificates.limits.SAME_BYTES": _LISTS + "test_a_longer_word_stays",
    "gdpr.certificates.limits.MEDIUM": _OUT_OF_REACH,
    "gdpr.certificates.limits.COPIES": _OUT_OF_REACH,
    "gdpr.data_map.letters.PROOF": _LETTERS
    + "test_an_erasure_keeps_what_was_sent_and_says_so",
    "gdpr.data_map.letters.ADDRESS": _LETTERS + "test_the_address_ends_by_itself",
    "gdpr.data_map.registry.OUT_OF_REACH.backups": "tests/gdpr/test_replay.py::"
    "test_a_restored_backup_is_noticed_and_made_up_for",
    "gdpr.data_map.registry.OUT_OF_REACH.bundles": "tests/gdpr/test_export.py::"
    "test_an_erasure_takes_every_bundle_along",
    "gdpr.data_map.registry.OUT_OF_REACH.letters": _LETTERS
    + "test_what_letters_to_others_say_is_not_searched_and_that_is_said",
    "gdpr.data_map.registry.OUT_OF_REACH.webhooks": _OUT_OF_REACH,
    "gdpr.data_map.registry.OUT_OF_REACH.providers": _OUT_OF_REACH,
    "gdpr.data_map.registry.OUT_OF_REACH.mail": "tests/gdpr/test_caseload.py::"
    "test_the_digest_tells_once_a_day_and_names_nobody",
    "gdpr.data_map.registry.OUT_OF_REACH.standard_error": "tests/gdpr/"
    "test_data_map.py::test_we_write_no_log_file",
    "gdpr.erasure.certified_facts.UNTOUCHED": _LISTS
    + "test_entries_that_were_not_touched_are_judged_elsewhere",
    # ── Verdict and exceptions ───────────────────────────────────────────────
    "gdpr.certificates.statement.ERASED": _LISTS
    + "test_it_lists_what_was_sought_and_where",
    "gdpr.certificates.statement.NOTHING_LEFT": _LISTS
    + "test_it_lists_what_was_sought_and_where",
    "gdpr.certificates.statement.ERASED_EXCEPT": _LISTS
    + "test_a_row_kept_by_decision_is_counted_with_its_ground",
    "gdpr.certificates.statement.RECTIFIED": _LISTS
    + "test_a_rectification_lists_the_words_and_its_one_form",
    "gdpr.certificates.statement.RECTIFIED_EXCEPT": _LISTS
    + "test_a_rectification_with_an_exception",
    "gdpr.certificates.statement.DONE": _LISTS
    + "test_another_request_states_no_more_than_that_it_was_carried_out",
    "gdpr.certificates.statement.IN_PART": _LISTS
    + "test_a_partial_one_says_what_is_left_and_what_to_do",
    "gdpr.certificates.statement.TRACE": _LISTS
    + "test_a_partial_one_says_what_is_left_and_what_to_do",
    "gdpr.certificates.statement.TRACES": _LISTS
    + "test_a_partial_one_says_what_is_left_and_what_to_do",
    "gdpr.certificates.statement.RUN_AGAIN": _LISTS
    + "test_a_partial_one_can_be_run_again",
    "gdpr.certificates.statement.DECIDED_ONE": _LISTS
    + "test_a_row_kept_by_decision_is_counted_with_its_ground",
    "gdpr.certificates.statement.DECIDED": _LISTS
    + "test_proposed_rows_are_counted_by_what_was_decided",
    "gdpr.certificates.statement.BY_RULE_ONE": _LISTS
    + "test_one_place_that_keeps_them",
    "gdpr.certificates.statement.BY_RULE": _LISTS
    + "test_an_account_that_is_kept_is_an_exception_with_its_reason",
    "gdpr.certificates.statement.UNSOUGHT_ONE": _LISTS
    + "test_an_identifier_too_short_to_be_sought_is_counted",
    "gdpr.certificates.statement.UNSOUGHT": _LISTS
    + "test_an_identifier_too_short_to_be_sought_is_counted",
    "gdpr.certificates.statement.GROUNDS": _LISTS
    + "test_a_row_kept_by_decision_is_counted_with_its_ground",
    # ── Identity ─────────────────────────────────────────────────────────────
    "gdpr.certificates.statement.VERIFIED": _LISTS + "test_a_verified_identity",
    "gdpr.certificates.statement.NOT_VERIFIED": _LISTS + "test_a_verified_identity",
    "gdpr.certificates.statement.REASON_GIVEN": _LISTS
    + "test_a_reason_for_not_verifying_is_never_quoted",
    "gdpr.certificates.statement.IDENTITY_GROUNDS": _LISTS
    + "test_a_reason_for_not_verifying_is_never_quoted",
    # ── Forms and reading paths ──────────────────────────────────────────────
    "gdpr.certificates.statement.CORRECTION": "tests/gdpr/test_rectification.py::"
    "test_wrong_becomes_right",
    "gdpr.certificates.statement.READING_PATHS": _LISTS
    + "test_the_reading_paths_are_those_that_are_searched",
    "gdpr.matching.forms.WRITTEN": "tests/gdpr/test_matching.py::"
    "test_a_person_is_found_however_written",
    "gdpr.matching.forms.ENCODED": "tests/gdpr/test_matching.py::"
    "test_any_name_is_found_in_any_case_and_escape",
    # ── The search's own sentences ───────────────────────────────────────────
    "gdpr.erasure.finish.BUSY": "tests/gdpr/test_erasure.py::"
    "test_a_reader_that_blocks_the_checkpoint_makes_the_result_partial",
    "gdpr.erasure.finish.NAMELESS": "tests/gdpr/test_erasure.py::"
    "test_without_the_sealed_names_nothing_is_called_complete",
    "gdpr.erasure.finish.UNCONFIRMED": "tests/gdpr/test_process_caches.py::"
    "test_a_process_that_does_not_confirm_is_reported",
    "gdpr.verification.byte_search.TOO_SHORT_ONE": _VERIFICATION
    + "test_a_short_name_counts_only_as_a_word_of_text",
    "gdpr.verification.byte_search.TOO_SHORT": _VERIFICATION
    + "test_a_short_name_counts_only_as_a_word_of_text",
    "gdpr.verification.statements.ASKED": _VERIFICATION
    + "test_bytes_are_searched_after_every_question",
    "gdpr.verification.statements.AS_WORDS": "tests/gdpr/test_truth.py::"
    "test_common_aliases_take_nothing_of_others",
    "gdpr.verification.statements.IN_FIELDS": "tests/gdpr/test_truth.py::"
    "test_common_aliases_take_nothing_of_others",
    "gdpr.verification.statements.BYTES": _VERIFICATION
    + "test_a_file_that_nobody_owns_is_searched",
    "gdpr.verification.statements.WORD_LISTS": _VERIFICATION
    + "test_the_word_index_is_asked_for_words_of_rows_that_are_gone",
    "gdpr.verification.postgres.OPEN_TRANSACTION": _POSTGRES
    + "test_a_transaction_that_began_before_keeps_dead_rows_and_is_told",
    "gdpr.verification.postgres.SAMPLES": _POSTGRES
    + "test_samples_of_a_table_that_is_empty_now_go",
    "gdpr.verification.postgres.ELSEWHERE": _POSTGRES
    + "test_what_another_database_of_the_server_says_is_no_trace",
    "gdpr.verification.postgres.REWRITTEN": _POSTGRES
    + "test_a_rewritten_table_holds_nothing_of_deleted_rows",
    "gdpr.verification.postgres.LOCKED": _POSTGRES
    + "test_a_table_that_somebody_holds_is_left_for_later",
    "gdpr.verification.second_search.SECOND": "tests/gdpr/test_second_search.py::"
    "test_the_report_says_how_many_rows_were_read",
    "gdpr.verification.second_search.ACTED": "tests/gdpr/test_second_search.py::"
    "test_a_column_that_is_kept_for_a_reason_is_no_trace",
    "gdpr.verification.second_search.LOGINS": "tests/gdpr/test_second_search.py::"
    "test_a_column_that_is_kept_for_a_reason_is_no_trace",
    "gdpr.verification.second_search.SEALED": _LETTERS
    + "test_letters_of_somebody_else_stay_and_are_not_opened",
    "gdpr.verification.second_search.ONLY_FIRST": "tests/gdpr/test_second_search.py::"
    "test_somebody_with_the_same_name_is_nobodys_trace",
    "gdpr.verification.server_files.UNREADABLE": _LOG
    + "test_the_folder_of_another_server_does_not_count",
    "gdpr.verification.server_files.SERVER_LOG": _LOG
    + "test_files_of_other_databases_and_the_servers_log_are_counted_as_not_searched",
    "gdpr.verification.server_files.OTHER_DATABASES": _LOG
    + "test_files_of_other_databases_and_the_servers_log_are_counted_as_not_searched",
    "gdpr.verification.statements.UNPACKED": "tests/gdpr/test_packed_files.py::"
    "test_the_report_names_what_was_not_opened",
    "gdpr.verification.statements.READERS": "tests/gdpr/test_certificate_lists.py::"
    "test_the_reading_paths_are_those_that_are_searched",
    "gdpr.verification.statements.SAMPLED": "tests/gdpr/test_verification.py::"
    "test_the_search_finds_exactly_what_is_there",
    "gdpr.verification.statements.SHARED": "tests/gdpr/test_verification.py::"
    "test_a_row_that_stays_is_no_trace",
    "gdpr.verification.statements.SKIPPED": "tests/gdpr/test_verification.py::"
    "test_known_files_are_read_with_the_rows",
    "gdpr.verification.statements.NOT_OPENED": "tests/gdpr/test_packed_files.py::"
    "test_what_cannot_be_opened_is_counted",
    "gdpr.verification.statements.SEALED": "tests/gdpr/test_packed_files.py::"
    "test_the_report_names_what_was_not_opened",
    "gdpr.verification.statements.UNREAD": "tests/gdpr/test_packed_files.py::"
    "test_a_file_that_may_not_be_read_is_counted",
    "gdpr.verification.statements.FOLDERS": "tests/gdpr/test_certificate_lists.py::"
    "test_copies_elsewhere_and_memory_are_not_searched",
    "gdpr.verification.statements.PROCESSES": "tests/gdpr/test_certificate_lists.py::"
    "test_copies_elsewhere_and_memory_are_not_searched",
    "gdpr.verification.statements.ROWS_OF_FILES": "tests/gdpr/test_shared_erasure.py::"
    "test_an_erasure_leaves_no_row_of_a_file_that_names_the_person",
    "gdpr.verification.statements.LONG_VALUES": _LOG
    + "test_a_run_says_that_compressed_values_are_not_readable",
    "gdpr.verification.write_ahead_log.ROTATED": _LOG
    + "test_the_log_holds_nothing_of_the_person_after_a_run",
    "gdpr.verification.write_ahead_log.NOT_ROTATED": _LOG
    + "test_without_the_rights_it_says_so",
    "gdpr.verification.write_ahead_log.SEARCHED": _LOG
    + "test_the_log_holds_nothing_of_the_person_after_a_run",
    "gdpr.verification.write_ahead_log.HELD": _LOG
    + "test_segments_that_still_hold_words_are_counted_with_the_reason",
    "gdpr.verification.write_ahead_log.NOT_READ": _LOG
    + "test_the_folder_of_another_server_does_not_count",
}
