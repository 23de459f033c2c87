"""The table of scheduled jobs: what runs, when, and in which order at night.

A line is the job's name, its title and schedule as the page shows them, what does the
work, and when: at an ``interval``, at a place of the ``night``, or neither where
``crewship_memory.celery`` has a schedule of its own for it or a person starts it.
``house_wide`` jobs run once, all others for each workspace.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import episodic.tasks
import gdpr.tasks
import memory.tasks
from episodic.consolidation import job as consolidation_job
from episodic.health import index_job
from episodic.recall import checks, questions
from gdpr.cases import reminder_email
from memory import journal_upload
from memory.integrations import selftest_runs
from memory.jobs import registry
from memory.jobs.registry import Job
from memory.review import rescan_job

MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)

# fmt: off
JOBS: Final = (
    Job("files_sweep", "Files sweep", "every 30 s",
        memory.tasks.reconcile_files, house_wide=True),
    Job("index_sweep", "Index sweep", "every 5 s",
        episodic.tasks.embed_pending, house_wide=True),
    Job("gdpr_cases", "Personal data: cases", "every 5 s",
        gdpr.tasks.run_cases, house_wide=True),
    Job("conformance", "Conformance", "when asked",
        selftest_runs.run, lines=selftest_runs.lines),
    Job("rescan", "Scan stored files again", "when asked",
        rescan_job.run, longest=timedelta(hours=12), lines=rescan_job.lines),
    Job("journal_import", "Import journal entries", "when asked",
        journal_upload.run, longest=timedelta(hours=12), lines=journal_upload.lines),
    Job("index", "Index what waits", "when asked",
        index_job.run, longest=timedelta(hours=12), lines=index_job.lines),

    Job("record_expiry", "Expired records", "every minute",
        memory.tasks.retire_expired_records, interval=MINUTE, house_wide=True),
    Job("webhooks", "Webhooks", "every minute",
        memory.tasks.deliver_webhooks, interval=MINUTE, house_wide=True),
    Job("gdpr_aliases", "Personal data: new names", "every minute",
        gdpr.tasks.find_new_names, interval=MINUTE, house_wide=True),
    Job("gdpr_exports", "Personal data: bundles", "every minute",
        gdpr.tasks.make_bundles, interval=MINUTE, house_wide=True),
    Job("recall_checks_model", "Recall checks after a model change",
        "every 15 min, when the model changed",
        checks.run_after_model_change, interval=timedelta(minutes=15)),
    Job("idempotency", "Forget old answers", "every hour",
        memory.tasks.delete_old_answers, interval=HOUR, house_wide=True),
    Job("gdpr_digest", "Digest of cases", "daily, asked every hour",
        reminder_email.send, interval=HOUR),
    Job("consolidation", "Consolidation", "every 6 h",
        consolidation_job.run, interval=timedelta(hours=6),
        lines=consolidation_job.lines),

    Job("compaction", "Compaction", "nightly, first",
        memory.tasks.compact, night=10),
    Job("decay", "Importance decay", "nightly, after compaction",
        episodic.tasks.lower_importance, night=20),
    Job("health", "Health snapshots", "nightly, after decay",
        episodic.tasks.take_snapshots, night=30),
    Job("map", "Map of memory", "nightly, after health",
        episodic.tasks.draw_map, night=35),
    Job("retention", "Version retention", "nightly, after the map",
        memory.tasks.prune_versions, night=40),
    Job("word_index", "Word index", "nightly, after retention",
        memory.tasks.merge_word_indexes, night=50, house_wide=True),
    Job("recall_checks", "Recall checks", "nightly, after the word index",
        checks.run_nightly, night=60),
    Job("nudges_forgotten", "Forget nudges given", "nightly, after 30 days",
        episodic.tasks.forget_nudges, night=61, house_wide=True),
    Job("imports_forgotten", "Forget imports given up", "nightly, after 7 days",
        memory.tasks.forget_imports, night=63, house_wide=True),
    Job("recall_log", "Recall log retention", "nightly, after its days",
        questions.run_nightly, night=62),
)
# fmt: on

registry.register(*JOBS)
