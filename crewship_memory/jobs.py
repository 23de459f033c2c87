"""The table of scheduled jobs: what runs, when, and in which order at night.

A line is the job's name, its title and schedule as the page shows them, what does the
work, and when: at an ``interval``, at a place of the ``night``, or neither where
``crewship_memory.celery`` has a schedule of its own for it or a person starts it.
``house_wide`` jobs run once, all others for each workspace. What can be long, and every
job that a person starts, is in the queue ``batch`` unless another is named.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.utils.translation import gettext_noop

import episodic.tasks
import gdpr.tasks
import memory.tasks
from episodic.consolidation import job as consolidation_job
from episodic.health import index_job
from episodic.recall import checks, questions
from gdpr.cases import reminder_email
from memory import journal_upload
from memory.installation import bodies
from memory.integrations import selftest_runs
from memory.jobs import queues, registry
from memory.jobs.registry import Job
from memory.review import proposal_job, rescan_job

MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)

# Where the files are rows nobody can edit them on the disk.
NO_SWEEP: Final = bodies.in_database()
FILES_SWEEP: Final = (
    gettext_noop("not needed, the files are in the database")
    if NO_SWEEP
    else gettext_noop("every 30 s")
)

# fmt: off
JOBS: Final = (
    Job("files_sweep", gettext_noop("Files sweep"), FILES_SWEEP,
        memory.tasks.reconcile_files, house_wide=True, queue=queues.CLOCK,
        unused=NO_SWEEP),
    Job("index_sweep", gettext_noop("Index sweep"), gettext_noop("every 5 s"),
        episodic.tasks.embed_pending, house_wide=True, queue=queues.EMBEDDING),
    Job("gdpr_cases", gettext_noop("Personal data: cases"), gettext_noop("every 5 s"),
        gdpr.tasks.run_cases, house_wide=True, queue=queues.PERSONAL_DATA),
    Job("conformance", gettext_noop("Conformance"), gettext_noop("when asked"),
        selftest_runs.run, lines=selftest_runs.lines),
    Job("rescan", gettext_noop("Scan stored files again"), gettext_noop("when asked"),
        rescan_job.run, longest=timedelta(hours=12), lines=rescan_job.lines),
    Job("journal_import", gettext_noop("Import journal entries"),
        gettext_noop("when asked"),
        journal_upload.run, longest=timedelta(hours=12), lines=journal_upload.lines,
        repeats=journal_upload.REPEATS, permission="journal.import"),
    Job("index", gettext_noop("Index what waits"), gettext_noop("when asked"),
        index_job.run, longest=timedelta(hours=12), lines=index_job.lines),

    Job("record_expiry", gettext_noop("Expired records"), gettext_noop("every minute"),
        memory.tasks.retire_expired_records, interval=MINUTE, house_wide=True),
    Job("webhooks", gettext_noop("Webhooks"), gettext_noop("every minute"),
        memory.tasks.deliver_webhooks, interval=MINUTE, house_wide=True,
        queue=queues.MAIL),
    Job("gdpr_aliases", gettext_noop("Personal data: new names"),
        gettext_noop("every minute"),
        gdpr.tasks.find_new_names, interval=MINUTE, house_wide=True,
        queue=queues.PERSONAL_DATA),
    Job("gdpr_exports", gettext_noop("Personal data: bundles"),
        gettext_noop("every minute"),
        gdpr.tasks.make_bundles, interval=MINUTE, house_wide=True,
        queue=queues.PERSONAL_DATA),
    Job("gdpr_recipients", gettext_noop("Personal data: notices to recipients"),
        gettext_noop("every minute"),
        gdpr.tasks.notify_recipients, interval=MINUTE, house_wide=True,
        queue=queues.MAIL),
    Job("recall_checks_model", gettext_noop("Recall checks after a model change"),
        gettext_noop("every 15 min, when the model changed"),
        checks.run_after_model_change, interval=timedelta(minutes=15),
        queue=queues.BATCH),
    Job("idempotency", gettext_noop("Forget old answers"), gettext_noop("every hour"),
        memory.tasks.delete_old_answers, interval=HOUR, house_wide=True),
    Job("gdpr_digest", gettext_noop("Digest of cases"),
        gettext_noop("daily, asked every hour"),
        reminder_email.send, interval=HOUR, queue=queues.MAIL),
    Job("consolidation", gettext_noop("Consolidation"), gettext_noop("every 6 h"),
        consolidation_job.run, interval=timedelta(hours=6), queue=queues.BATCH,
        lines=consolidation_job.lines),

    Job("compaction", gettext_noop("Compaction"), gettext_noop("nightly, first"),
        memory.tasks.compact, night=10),
    Job("decay", gettext_noop("Importance decay"),
        gettext_noop("nightly, after compaction"),
        episodic.tasks.lower_importance, night=20),
    Job("health", gettext_noop("Health snapshots"),
        gettext_noop("nightly, after decay"),
        episodic.tasks.take_snapshots, night=30),
    Job("map", gettext_noop("Map of memory"), gettext_noop("nightly, after health"),
        episodic.tasks.draw_map, night=35),
    Job("retention", gettext_noop("Version retention"),
        gettext_noop("nightly, after the map"),
        memory.tasks.prune_versions, night=40),
    Job("retention_rules", gettext_noop("Retention of entries and records"),
        gettext_noop("nightly, by the workspace's rules"),
        gdpr.tasks.apply_retention, night=45, longest=timedelta(hours=12)),
    Job("word_index", gettext_noop("Word index"),
        gettext_noop("nightly, after retention"),
        memory.tasks.merge_word_indexes, night=50, house_wide=True),
    Job("recall_checks", gettext_noop("Recall checks"),
        gettext_noop("nightly, after the word index"),
        checks.run_nightly, night=60),
    Job("nudges_forgotten", gettext_noop("Forget nudges given"),
        gettext_noop("nightly, after 30 days"),
        episodic.tasks.forget_nudges, night=61, house_wide=True),
    Job("imports_forgotten", gettext_noop("Forget imports given up"),
        gettext_noop("nightly, after 7 days"),
        memory.tasks.forget_imports, night=63, house_wide=True),
    Job("requests_forgotten", gettext_noop("Forget unconfirmed requests"),
        gettext_noop("nightly, after 2 days"),
        gdpr.tasks.forget_requests, night=64, house_wide=True),
    Job("scanner_proposals", gettext_noop("Proposals for the scanner"),
        gettext_noop("nightly, from reviewers’ decisions"),
        proposal_job.run, night=65, lines=proposal_job.lines),
    Job("letters", gettext_noop("Letters and addresses after their days"),
        gettext_noop("nightly, after their days"),
        gdpr.tasks.erase_letters, night=66),
    Job("recall_log", gettext_noop("Recall log retention"),
        gettext_noop("nightly, after its days"),
        questions.run_nightly, night=62),
)
# fmt: on

registry.register(*JOBS)
