"""The recall log: what agents asked, kept where a workspace switched it on.

What is logged, decided in ``is_logged``: a question that came with a key, an agent's or
an operator program's, over whichever way in: the API, tools, MCP, another system's
client. People at a page, recall checks and the program itself have no key, so the
explorer, a check and the search after an erasure are not logged; nor is a question that
only asks to be explained (``explain`` without ``mark``, as ``why`` does).

Nothing is written while a question is answered. Answers add to a buffer in memory; a
thread writes it once a second, and once more when the process ends. Only there the
setting is read, names of erased people are refused, and entries that were erased
meanwhile are left out. A process that is killed loses its last second of questions; a
database that does not answer costs nothing until the buffer is full, then the oldest
questions, and the log of the process says how many.
"""

from __future__ import annotations

import atexit
import hashlib
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final, Protocol

import structlog
from django.db import DatabaseError, DataError, IntegrityError, connections
from django.utils import timezone

from episodic.models import LoggedQuestion
from episodic.recall import question_rows
from episodic.recall.question_rows import HitFacts, Question
from episodic.recall.ranking import Rankings
from episodic.recall.request import Request, Timings
from episodic.recall.results import Hit
from episodic.scopes import Reach
from memory.installation import identity as installation
from memory.rules import entries, tokenizer
from memory.rules.permissions import Actor

EVERY_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 0.1
QUIET_SECONDS: Final = 30
BUFFER_MOST: Final = 10_000
BATCH: Final = 500
log = structlog.get_logger(__name__)


class Answer(Protocol):
    """What the log reads of an answer."""

    @property
    def request(self) -> Request: ...
    @property
    def reach(self) -> Reach: ...
    @property
    def rankings(self) -> Rankings: ...
    @property
    def hits(self) -> list[Hit]: ...
    @property
    def timings(self) -> Timings: ...


def is_logged(request: Request, by: Actor) -> bool:
    """Whether a question belongs in the log of a workspace that keeps one."""
    return by.key_id is not None and (request.mark or not request.explain)


def key(question: str) -> str:
    """Return what a question has in common with others in the same words."""
    same_words = " ".join(tokenizer.split(tokenizer.fold(question))) or question
    return hashlib.sha256(same_words.encode("utf-8", "surrogatepass")).hexdigest()


def of(answer: Answer, by: Actor) -> Question:
    """Return an answer as the log keeps it."""
    request, reach, rankings = answer.request, answer.reach, answer.rankings
    row = LoggedQuestion(
        workspace_id=reach.workspace_id,
        asked_at=timezone.now(),
        question=request.query,
        question_key=key(request.query),
        agent_id=reach.agent_id,
        crew_id=reach.crew_id or reach.rules_crew_id,
        asked_by="" if by.is_agent else by.label,
        scope=reach.scope,
        mode=request.mode.value,
        fusion=request.fused_by.value,
        k=request.k,
        latency_ms=answer.timings.total,
        degraded=(rankings.degraded or "")[:200],
        model=rankings.scope.model,
    )
    hits = tuple(
        # A neighbour's way names another entry; what kind of way it was is enough.
        HitFacts(
            hit.entry.id,
            hit.entry.docid,
            hit.score,
            hit.cosine,
            hit.via.partition(":")[0],
        )
        for hit in answer.hits
    )
    return Question(reach.workspace_id, row, hits)


# ── The buffer ───────────────────────────────────────────────────────────────
class QuestionLog:
    """The buffer and the thread that empties it; the first question starts it.

    One write runs at a time, so that the last one before the process ends waits for the
    one under way.
    """

    def __init__(self) -> None:
        self._waiting: deque[Question] = deque()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None

    def note(self, answer: Answer, by: Actor) -> None:
        """Remember an answer for the log, where it belongs in one."""
        if not is_logged(answer.request, by):
            return
        if not entries.is_storable(answer.request.query):
            return
        self._add([of(answer, by)])
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()

    def _add(self, questions: Iterable[Question], *, first: bool = False) -> None:
        with self._lock:
            if first:
                self._waiting.extendleft(reversed(list(questions)))
            else:
                self._waiting.extend(questions)
            excess = max(0, len(self._waiting) - BUFFER_MOST)
            for _ in range(excess):
                self._waiting.popleft()
        if excess:
            log.warning("questions_lost", questions=excess)

    def count(self, is_match: Callable[[str], bool]) -> int:
        """Return how many waiting questions match."""
        with self._lock:
            return sum(is_match(question.text) for question in self._waiting)

    def drop(self, workspace_id: str) -> int:
        """Drop the waiting questions of a workspace; return how many.

        Waits for a write under way, so that none of them is stored afterwards.
        """
        with self._writing, self._lock:
            before = len(self._waiting)
            rest = [q for q in self._waiting if q.workspace_id != workspace_id]
            self._waiting = deque(rest)
            return before - len(rest)

    def flush(self) -> int:
        """Write what waits now; return how many questions were stored."""
        with self._writing:
            total = 0
            while batch := self._take():
                count = self._write(batch)
                if count is None:
                    break
                total += count
            return total

    def _take(self) -> list[Question]:
        """Return the oldest questions; none while the installation may not write."""
        with self._lock:
            if not self._waiting:
                return []
        if installation.problem() is not None:
            return []
        with self._lock:
            size = min(BATCH, len(self._waiting))
            return [self._waiting.popleft() for _ in range(size)]

    def _write(self, batch: Sequence[Question]) -> int | None:
        """Write a batch; None when the database failed, and the rest waits again."""
        by_workspace: dict[str, list[Question]] = defaultdict(list)
        for question in batch:
            by_workspace[question.workspace_id].append(question)
        total = 0
        while by_workspace:
            workspace_id, questions = next(iter(by_workspace.items()))
            try:
                total += question_rows.write(workspace_id, questions)
            except (DataError, IntegrityError) as error:
                # Trying again would fail again, and keep everything behind it.
                name = type(error).__name__
                log.warning("questions_lost", questions=len(questions), error=name)
            except BaseException as error:
                self._add(chain.from_iterable(by_workspace.values()), first=True)
                if not isinstance(error, DatabaseError):
                    raise
                log.warning("questions_not_written", error=type(error).__name__)
                return None
            del by_workspace[workspace_id]
        return total

    def drain(self, seconds: float = 3.0) -> bool:
        """Write everything before the process ends; False when time ran out."""
        until = time.monotonic() + seconds
        while True:
            self.flush()
            with self._lock:
                remaining = len(self._waiting)
            if not remaining:
                return True
            if time.monotonic() >= until:
                log.error("questions_lost", questions=remaining)
                return False
            time.sleep(RETRY_SECONDS)

    def _run(self) -> None:
        """Flush each second; end after half a minute without questions."""
        quiet, pause = 0.0, threading.Event()
        while True:
            pause.wait(EVERY_SECONDS)
            with self._lock:
                quiet = 0.0 if self._waiting else quiet + EVERY_SECONDS
                if quiet >= QUIET_SECONDS:
                    # From here on a question starts another thread.
                    self._thread = None
                    break
            self.flush()
        connections.close_all()


question_log = QuestionLog()
atexit.register(question_log.drain)
