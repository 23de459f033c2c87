"""Changes the code a little, many times, and asks whether a test notices.

    .venv/bin/python .ci/mutation.py memory/journal/append.py -- tests/memory
    .venv/bin/python .ci/mutation.py --most 40 gdpr/erasure/*.py -- tests/gdpr

Prints the changes that no test noticed, or whose line no test reached; ``--out`` writes
them as JSON lines. The tests run once unchanged, to learn which of them reach which
line. Then a forked process per change runs those, quickest first, until one fails or
they took ``BUDGET_SECONDS``; a report says how many of them that were. Only bodies of
functions are changed. For SQLite, without coverage.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest
from mutants import ROOT, Mutant, apply, mutants

# A change that makes its tests this much slower counts as noticed.
PATIENCE_SECONDS: Final = 30.0
# Tests of one change are run, quickest first, until they took this long unchanged.
BUDGET_SECONDS: Final = 40.0
# The exit code of a forked process in which this program failed, not a test.
BROKEN: Final = 3
# The one of a process whose change could not be applied.
NOT_APPLIED: Final = 4
LEARNING_SECONDS: Final = 3_600.0


def _within_budget(tests: list[int], seconds: list[float]) -> list[int]:
    """Return the first tests that together take no longer than the budget, and one."""
    before = accumulate((seconds[place] for place in tests), initial=0.0)
    return [
        p for p, total in zip(tests, before, strict=False) if total < BUDGET_SECONDS
    ]


class Mutation:
    """A pytest plugin whose loop forks a process per change."""

    def __init__(self, changes: list[Mutant], out: Path | None) -> None:
        self._changes = changes
        self._out = out
        self._files = {str(ROOT / change.path) for change in changes}
        self._has_failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure; passing tests are not told apart."""
        self._has_failed = self._has_failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests unchanged, then for each change those that reach it."""
        self._passes(session.items[0])
        database = self._saved_database()
        learned = self._in_child(lambda: self._learn(session.items), LEARNING_SECONDS)
        reached, seconds = learned[1]
        everywhere = sorted({place for places in reached.values() for place in places})
        tests = [session.items[place] for place in everywhere]
        if self._in_child(lambda: self._run(tests), LEARNING_SECONDS)[0]:
            raise RuntimeError("Tests fail although nothing is changed.")
        verdicts: Counter[str] = Counter()
        for number, change in enumerate(self._changes, 1):
            reaching = self._tests_of(change, reached, seconds)
            places = _within_budget(reaching, seconds)
            verdict = "not reached"
            if places:
                tests = [session.items[place] for place in places]
                limit = PATIENCE_SECONDS + 3 * sum(seconds[place] for place in places)
                code = self._in_child(self._attempt(change, tests), limit)[0]
                verdict = {0: "survived", NOT_APPLIED: "not applied"}.get(
                    code, "noticed"
                )
                self._restore(database)
            verdicts[verdict] += 1
            if verdict != "noticed":
                tests_run = f"{len(places)} of {len(reaching)} tests"
                self._report(change, verdict, number, tests_run)
        sys.stderr.write(f"\n{json.dumps(verdicts)}\n")
        return True

    def _tests_of(
        self, change: Mutant, reached: dict[str, list[int]], seconds: list[float]
    ) -> list[int]:
        """Return the places of the tests that reach a change, quickest first."""
        file = ROOT / change.path
        places = {
            place
            for line in range(change.line, change.last_line + 1)
            for place in reached.get(f"{file}:{line}", [])
        }
        return sorted(places, key=lambda place: seconds[place])

    def _report(self, change: Mutant, verdict: str, number: int, tests: str) -> None:
        count = f"[{number}/{len(self._changes)}]"
        place = f"{change.path}:{change.line} {change.function}"
        sys.stderr.write(f"\n{count} {verdict} ({tests}) {place}: {change.what}")
        if self._out is not None:
            fields = {**asdict(change), "tree": None, "verdict": verdict}
            with self._out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(fields) + "\n")

    def _saved_database(self) -> Path:
        """Keep a copy of the database with what all tests begin with."""
        from django.db import connections  # noqa: PLC0415  (Django is set up by now)

        connections.close_all()
        database = Path(connections["default"].settings_dict["NAME"])
        shutil.copyfile(database, f"{database}.saved")
        return database

    def _restore(self, database: Path) -> None:
        for suffix in ("-wal", "-shm"):
            Path(f"{database}{suffix}").unlink(missing_ok=True)
        shutil.copyfile(f"{database}.saved", database)

    def _passes(self, item: pytest.Item) -> bool:
        """Run one test; all its fixtures but the session's are taken down."""
        self._has_failed = False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=item.session)
        return not self._has_failed

    def _learn(self, items: list[pytest.Item]) -> Any:
        """Return which tests reach which lines, and how long each takes."""
        reached: dict[str, list[int]] = defaultdict(list)
        seconds = []
        lines: set[str] = set()

        def within(frame: FrameType, event: str, _arg: Any) -> Any:
            if event == "line":
                lines.add(f"{frame.f_code.co_filename}:{frame.f_lineno}")
            return within

        def enter(frame: FrameType, _event: str, _arg: Any) -> Any:
            return within if frame.f_code.co_filename in self._files else None

        threading.settrace(enter)
        for place, item in enumerate(items):
            lines.clear()
            begun = time.monotonic()
            sys.settrace(enter)
            passes = self._passes(item)
            sys.settrace(None)
            seconds.append(time.monotonic() - begun)
            for line in lines if passes else ():
                reached[line].append(place)
        return reached, seconds

    def _run(self, items: Iterable[pytest.Item]) -> None:
        """Run tests until one fails; the process ends with that."""
        for item in items:
            if not self._passes(item):
                os._exit(1)

    def _attempt(self, change: Mutant, items: list[pytest.Item]) -> Callable[[], None]:
        def run() -> None:
            if not apply(change):
                os._exit(NOT_APPLIED)
            self._run(items)

        return run

    def _in_child(self, work: Callable[[], Any], limit: float) -> tuple[int, Any]:
        """Fork, work there in silence; return the exit status and the result."""
        with tempfile.NamedTemporaryFile("r+", suffix=".json") as answer:
            code, child = 1, os.fork()
            if not child:
                os.setsid()
                silence = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silence, sys.stdout.fileno())
                os.dup2(silence, sys.stderr.fileno())
                try:
                    code = self._exit_code(work, Path(answer.name))
                finally:
                    # Whatever a change raised, the copy must not go on as the parent.
                    os._exit(code)
            status = self._wait(child, limit)
            text = answer.read()
        exit_code = os.waitstatus_to_exitcode(status)
        if exit_code == BROKEN:
            raise RuntimeError(text)
        return exit_code, json.loads(text) if text else None

    def _exit_code(self, work: Callable[[], Any], answer: Path) -> int:
        """Write down what work returns; or, where it is at fault itself, its error."""
        try:
            text, code = json.dumps(work()), 0
        except Exception:  # noqa: BLE001  (the parent raises it)
            text, code = traceback.format_exc(), BROKEN
        answer.write_text(text, encoding="utf-8")
        return code

    def _wait(self, child: int, limit: float) -> int:
        end = time.monotonic() + limit
        while time.monotonic() < end:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                return status
            time.sleep(0.01)
        os.killpg(child, signal.SIGKILL)
        return os.waitpid(child, 0)[1]


def main() -> int:
    """Read the command line, change the files, test; the exit code is pytest's."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--most", type=int, help="changes per file, chosen by chance")
    parser.add_argument("--out", type=Path, help="a file for what was not noticed")
    arguments, tests = sys.argv[1:], list[str]()
    if "--" in arguments:
        split = arguments.index("--")
        arguments, tests = arguments[:split], arguments[split + 1 :]
    options = parser.parse_args(arguments)
    if not tests:
        parser.error("name the tests to run, after --")
    changes = []
    for path in options.files:
        of_file = list(mutants(path))
        if options.most and len(of_file) > options.most:
            # The same ones at every run.
            places = random.Random(path.name).sample(  # noqa: S311
                range(len(of_file)), options.most
            )
            of_file = [of_file[place] for place in sorted(places)]
        changes += of_file
    sys.stderr.write(f"{len(changes)} changes in {len(options.files)} files\n")
    plugin = Mutation(changes, options.out)
    fixed = ["-n", "0", "-q", "-s", "-p", "no:randomly", "-p", "no:cacheprovider"]
    return int(pytest.main([*fixed, *tests], plugins=[plugin]))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
