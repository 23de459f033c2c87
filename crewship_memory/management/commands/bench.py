"""``manage.py bench``: measure this machine, print JSON."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from crewship_memory.bench import (
    dataset,
    erasure,
    load,
    matching,
    measure,
    peers,
    process,
    quality,
    records,
    scale,
    scanner,
    server,
    sets,
)
from crewship_memory.bench.client import Client
from crewship_memory.bench.load_sender import Plan as LoadPlan
from crewship_memory.bench.sets import LabelledSet, SetError
from crewship_memory.version import VERSION
from episodic.index import engine

INSIDE = "CREWSHIP_BENCH_INSIDE"
CLIENTS = 8
PARTS = {
    "append", "erasure", "freshness", "load", "matching", "peers", "quality", "recall",
    "records", "scale",
}  # fmt: skip


class Command(BaseCommand):
    """Run a server on a temporary folder and measure it over HTTP."""

    help = "Measure appending and recall over HTTP, beside the naive way; print JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "parts",
            nargs="*",
            default=["append", "freshness", "recall", "peers"],
            help=f"Some of {', '.join(sorted(PARTS))}; or scanner, followed by files of"
            " labelled texts in JSON lines.",
        )
        parser.add_argument("--sizes", default="2000,20000,100000")
        parser.add_argument("--appends", type=int, default=1_000)
        parser.add_argument(
            "--rows", default="1000", help="How many rows the part erasure erases."
        )
        parser.add_argument(
            "--data",
            type=Path,
            help="For the part quality: a labelled set, a folder of such sets, or a"
            " journal in JSON lines.",
        )
        parser.add_argument(
            "--arms", help=f"Of quality: some of {','.join(quality.ARMS)}."
        )
        parser.add_argument(
            "--split",
            choices=sets.SPLITS,
            help="Of quality: one half of the questions.",
        )
        parser.add_argument(
            "--most", type=int, help="Of quality: how many questions of each half."
        )
        self._add_scale_arguments(parser)
        self._add_load_arguments(parser)

    def _add_scale_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--keep",
            metavar="DATABASE_URL",
            default=os.environ.get("DATABASE_URL", ""),
            help="Of scale: the PostgreSQL database to fill and measure. It is kept,"
            " and what it holds already is not written again.",
        )
        parser.add_argument(
            "--workspaces",
            type=int,
            default=1,
            help="Of scale: how many workspaces of the last size there are at the end.",
        )
        parser.add_argument(
            "--explain", action="store_true", help="Of scale: show the queries' plans."
        )

    def _add_load_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--seconds", type=int, default=600, help="Of load: how long."
        )
        parser.add_argument(
            "--rate", type=float, default=100, help="Of load: requests a second."
        )
        parser.add_argument(
            "--database",
            metavar="DATABASE_URL",
            default="",
            help="Of load: a PostgreSQL database to fill, for two web processes, a"
            " worker and a clock instead of one process over SQLite.",
        )
        parser.add_argument(
            "--redis", metavar="REDIS_URL", default="", help="Of load: their Redis."
        )

    def handle(
        self,
        *,
        parts: list[str],
        sizes: str,
        appends: int,
        data: Path | None,
        **options: Any,
    ) -> None:
        """Measure in a process whose settings point at a fresh data folder."""
        if parts[:1] == ["scanner"]:
            self._measure_scanner([Path(part) for part in parts[1:]])
            return
        if unknown := set(parts) - PARTS:
            message = f"Unknown part: {', '.join(sorted(unknown))}."
            raise CommandError(message)
        labelled = self._labelled(data, options) if "quality" in parts else None
        counts = [int(size) for size in sizes.split(",") if size]
        if "scale" in parts:
            self._scale(counts, **options)
            return
        if os.environ.get(INSIDE) != "1":
            self._in_fresh_folder(is_load="load" in parts, **options)
            return
        if "load" in parts:
            self._measure_load(LoadPlan(options["seconds"], options["rate"]))
            return
        report = self._measure(set(parts), counts, appends)
        if labelled is not None:
            report["quality"] = quality.measure(*labelled, self.stderr.write)
        if "records" in parts:
            report["records"] = [records.measure(size) for size in counts]
        if "matching" in parts:
            report["matching"] = matching.measure()
        if "erasure" in parts:
            row_counts = [int(rows) for rows in str(options["rows"]).split(",")]
            report["erasure"] = [
                erasure.measure(rows, size) for rows in row_counts for size in counts
            ]
        self.stdout.write(json.dumps(report, indent=2))

    def _measure_scanner(self, files: list[Path]) -> None:
        """Scan labelled texts in this process; nothing is stored."""
        try:
            rows = list(scanner.read(files))
        except (scanner.RowError, OSError) as error:
            raise CommandError(str(error)) from error
        if not rows:
            message = "The part scanner needs files of labelled texts in JSON lines."
            raise CommandError(message)
        report = self._machine() | {"scanner": scanner.measure(rows)}
        self.stdout.write(json.dumps(report, indent=2))

    def _labelled(
        self, data: Path | None, options: dict[str, Any]
    ) -> tuple[list[LabelledSet], quality.Plan]:
        """Return the sets to measure and how; what is wrong shows before the start."""
        if data is None:
            message = "The part quality needs --data: labelled sets, or a journal."
            raise CommandError(message)
        try:
            plan = quality.plan(options["arms"], options["split"], options["most"])
            return quality.load(data), plan
        except SetError as error:
            raise CommandError(str(error)) from error

    def _in_fresh_folder(
        self, *, is_load: bool, database: str, redis: str, **_: Any
    ) -> None:
        variables = {"DATABASE_URL": "", "REDIS_URL": ""}
        if is_load and bool(database) != bool(redis):
            message = "The part load needs --database and --redis, or neither."
            raise CommandError(message)
        if is_load:
            # The same for the same database, which remembers it.
            secret = hashlib.sha256(f"bench {database}".encode()).hexdigest()
            variables = {"DATABASE_URL": database, "REDIS_URL": redis}
            variables["CREWSHIP_SECRET_KEY"] = secret
        with tempfile.TemporaryDirectory(prefix="crewship-bench-") as folder:
            self._run_inside({"CREWSHIP_DATA_DIR": folder, **variables})

    def _run_inside(self, variables: dict[str, str]) -> None:
        environment = {**os.environ, INSIDE: "1", **variables}
        process = subprocess.run(  # noqa: S603  (ourselves, with our own arguments)
            [sys.executable, *sys.argv],
            env={name: value for name, value in environment.items() if value},
            check=False,
        )
        if process.returncode:
            message = f"The measurement ended with code {process.returncode}."
            raise CommandError(message)

    def _scale(self, sizes: list[int], *, keep: str, **options: Any) -> None:
        """Measure in a process whose settings name the database that is kept."""
        if not keep.startswith("postgres"):
            message = "The part scale needs --keep: the URL of a PostgreSQL database."
            raise CommandError(message)
        if os.environ.get(INSIDE) != "1":
            # Its keys, which the database remembers, are kept beside it.
            number = hashlib.sha256(keep.encode()).hexdigest()[:12]
            folder = Path(tempfile.gettempdir()) / f"crewship-scale-{number}"
            self._run_inside({"CREWSHIP_DATA_DIR": str(folder), "DATABASE_URL": keep})
            return
        call_command("migrate", verbosity=0)
        plan = scale.Plan(sorted(sizes), options["workspaces"], options["explain"])
        report = self._machine() | {"scale": scale.measure(plan, self.stderr.write)}
        self.stdout.write(json.dumps(report, indent=2))

    def _measure_load(self, plan: LoadPlan) -> None:
        """Measure under load; fail when anything failed or was lost."""
        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        figures = load.measure(plan, self.stderr.write)
        self.stdout.write(json.dumps(self._machine() | {"load": figures}, indent=2))
        if figures["faults"]:
            raise CommandError("\n".join(figures["faults"]))

    def _machine(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "machine": {
                "cores": os.cpu_count(),
                "processor": process.processor(),
                "python": platform.python_version(),
            },
        }

    def _measure(
        self, parts: set[str], sizes: list[int], appends: int
    ) -> dict[str, Any]:
        report = self._machine()
        call_command("migrate", verbosity=0)
        folder = Path(settings.DATA_DIR)
        for size in sizes if parts & {"recall", "peers"} else ():
            self._reading(folder, size, parts, report)
        if parts & {"append", "freshness"}:
            with server.running(folder) as running:
                report |= self._writing(running, parts, appends)
        report["model"] = engine.embedder().model
        return report

    def _reading(
        self, folder: Path, size: int, parts: set[str], report: dict[str, Any]
    ) -> None:
        """Fill while no server runs, which would embed the random vectors."""
        self.stderr.write(f"filling up to {size} entries …")
        workspace = dataset.open_workspace("bench-recall")
        agents = dataset.open_agents(workspace)
        dataset.fill(workspace, size, agents=agents)
        if "recall" in parts:
            self.stderr.write("recall …")
            token = dataset.own_token(workspace)
            connections.close_all()
            with server.running(folder) as running:
                figures = measure.compare(running, workspace, token)
            report.setdefault("recall", []).append(figures)
        if "peers" in parts:
            self.stderr.write("peers …")
            figures = peers.measure(workspace.workspace_id)
            report.setdefault("peers", []).append(figures)

    def _writing(
        self, running: server.Running, parts: set[str], appends: int
    ) -> dict[str, Any]:
        workspace, results = dataset.open_workspace("bench-append"), dict[str, Any]()
        results["disk_sync_ms"] = process.sync_ms(Path(settings.DATA_DIR))
        with Client(running.url, workspace.token) as http:
            if "freshness" in parts:
                self.stderr.write("append to recallable …")
                results["append_to_indexed"] = measure.indexed(http, 30)
                results["append_to_dense_recallable"] = measure.recallable(http, 30)
            if "append" in parts:
                self.stderr.write("appending …")
                pid = running.pid
                results["append_single"] = measure.append_single(http, appends, pid)
                results["append_side_by_side"] = measure.append_side_by_side(
                    running.url, workspace.token, CLIENTS, appends
                )
                results["append_batch"] = measure.append_batches(http, 10, 1_000)
                results["embedding_backlog"] = measure.wait_for_index(http, 120)
        return results
