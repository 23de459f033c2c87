"""A generated workspace of any size.

Texts are made of words drawn by Zipf's law, so that some words are in a third of all
entries and most are rare, as in real text. Vectors are random directions under the name
of the model in use: a scan does not care what they mean, and embedding a hundred
thousand texts would take ten minutes.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice
from typing import Final

import numpy as np
from django.db import connection, transaction
from django.utils import timezone
from numpy.typing import NDArray

from episodic.index import engine, importance, policy
from episodic.index import sweep as index
from episodic.models import Embedding, IndexState, State
from memory.accounts import api_keys, workspaces
from memory.journal import append as journal
from memory.models import Agent, ChainHead, JournalEntry
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor, AgentRole, system

BATCH: Final = 1_000
# The agents whose entries a workspace holds in turn; the first asks in its own scope.
AGENTS: Final = 200
VOCABULARY: Final = 30_000
_TYPES: Final = ("memory.recorded", "peer.escalation", "summary.generated")
_COMMON: Final = (
    "refund order customer parcel courier receipt limit search checkout payment "
    "deploy timeout retry cache index error price gift card address delivery"
).split()


@dataclass(frozen=True, slots=True)
class BenchWorkspace:
    """A generated workspace, its lead agent as an actor, and that agent's API key."""

    workspace_id: str
    actor: Actor
    token: str


def vocabulary(seed: int = 7) -> list[str]:
    """Return distinct made-up words after a few real ones, commonest first."""
    rng = random.Random(seed)  # noqa: S311  (not for secrets)
    starts = "bra ke lo mi nu pra so ti vu wel ga do".split()
    middles = "lan rem sit tor vul bin cas dun fol".split()
    ends = "a er ion y ed ic ar ine ock us".split()
    words: dict[str, None] = dict.fromkeys(_COMMON)
    while len(words) < VOCABULARY:
        parts = [rng.choice(starts), *rng.choices(middles, k=rng.randint(1, 3))]
        words["".join(parts) + rng.choice(ends)] = None
    return list(words)


class Writer:
    """Generates sentences by Zipf's law from a fixed seed."""

    def __init__(self, seed: int = 7) -> None:
        self._rng = random.Random(seed)  # noqa: S311
        self._words = vocabulary(seed)

    def word(self) -> str:
        """Return one word; rank r has a probability proportional to 1 / r."""
        rank = int(math.exp(self._rng.random() * math.log(len(self._words))))
        return self._words[min(rank, len(self._words)) - 1]

    def sentence(self, words: int) -> str:
        """Return a sentence of so many words."""
        return " ".join(self.word() for _ in range(words))

    def entries(self, count: int) -> Iterator[NewEntry]:
        """Return entries over the last ninety days, oldest first."""
        now = timezone.now()
        for n in range(count):
            age = timedelta(days=90 * (count - n) / count)
            yield NewEntry(
                entry_type=self._rng.choice(_TYPES),
                severity=self._rng.choice((Severity.INFO, Severity.NOTICE)),
                summary=self.sentence(9),
                payload={"text": self.sentence(25), "order": n},
                ts=now - age,
            )


def open_workspace(slug: str) -> BenchWorkspace:
    """Make a workspace with one crew, one lead and a key."""
    workspace, _ = workspaces.ensure_workspace(slug)
    by = system(workspace.id, "bench")
    crew, _ = workspaces.ensure_crew("bench", by=by)
    agent, _ = workspaces.ensure_agent("lead", crew, by=by, role=AgentRole.LEAD)
    token = api_keys.issue_agent_key(agent, by=by).token
    actor = api_keys.authenticate(token)
    assert actor is not None  # noqa: S101  (the key was made a moment ago)
    return BenchWorkspace(workspace.id, actor, token)


def open_agents(workspace: BenchWorkspace, count: int = AGENTS) -> list[Agent]:
    """Return agents of the lead's crew, made where they are missing."""
    by = system(workspace.workspace_id, "bench")
    crew, _ = workspaces.ensure_crew("bench", by=by)
    names = (f"agent-{n}" for n in range(count))
    return [workspaces.ensure_agent(name, crew, by=by)[0] for name in names]


def own_token(workspace: BenchWorkspace) -> str:
    """Return a key of the first of the workspace's agents."""
    by = system(workspace.workspace_id, "bench")
    agent = open_agents(workspace, 1)[0]
    return api_keys.issue_agent_key(agent, by=by).token


def fill(
    workspace: BenchWorkspace,
    upto: int,
    *,
    seed: int = 7,
    agents: Sequence[Agent] = (),
) -> None:
    """Append entries until the workspace holds ``upto``, each with a vector.

    They are the lead's, or those of ``agents`` in turn.
    """
    # What others appended before: the index has read up to the new ones.
    index.discover(workspace.workspace_id)
    vectors(workspace.workspace_id, seed)
    head = ChainHead.objects.get(pk=workspace.workspace_id).seq
    news = Writer(seed + head).entries(max(0, upto - head))
    by = system(workspace.workspace_id, "bench") if agents else workspace.actor
    rng = np.random.default_rng(seed + head)
    while batch := list(islice(news, BATCH)):
        if agents:
            owners = (agents[n % len(agents)] for n in range(len(batch)))
            batch = [
                replace(new, agent_id=owner.id, crew_id=owner.crew_id)
                for new, owner in zip(batch, owners, strict=True)
            ]
        with transaction.atomic():
            _embed(journal.write(batch, by=by), rng)


def _embed(rows: Sequence[JournalEntry], rng: np.random.Generator) -> None:
    """Index new entries as the sweep would, in one statement for all of them."""
    columns = (
        "entry_id, workspace_id, seq, crew_id, agent_id, importance_score, vector, dim,"
        " model, indexed_at, embedded_at, state, policy_version, reference_count,"
        " attempts, last_error"
    )
    model, now = engine.embedder().model, _now()
    matrix = _unit_vectors(rng, len(rows))
    values = [
        (
            *(row.id, row.workspace_id, row.seq, row.crew_id, row.agent_id),
            importance.base(row.entry_type, row.severity, row.priority),
            *(vector.tobytes(), len(vector), model, now, now),
        )
        for row, vector in zip(rows, matrix, strict=True)
        if row.embeddable
    ]
    constants = f"'{State.INDEXED}', {policy.VERSION}, 0, 0, ''"
    places = ", ".join(["%s"] * 11)
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO journal_embeddings ({columns})"  # noqa: S608  (constants)
            f" VALUES ({places}, {constants})",
            values,
        )
    states = IndexState.objects.filter(workspace_id=rows[-1].workspace_id)
    states.update(seq=rows[-1].seq)


def _now() -> str | None:
    return connection.ops.adapt_datetimefield_value(timezone.now())


def _unit_vectors(rng: np.random.Generator, count: int) -> NDArray[np.float32]:
    dim = engine.embedder().dim or 384
    matrix = rng.standard_normal((count, dim), dtype=np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix


def vectors(workspace_id: str, seed: int) -> None:
    """Give every pending entry a random unit vector."""
    model, rng = engine.embedder().model, np.random.default_rng(seed)
    pending = Embedding.objects.filter(workspace_id=workspace_id, state=State.PENDING)
    sql = (
        "UPDATE journal_embeddings SET state = 'indexed', model = %s, dim = %s,"
        " vector = %s, indexed_at = %s WHERE entry_id = %s"
    )
    while ids := list(pending.values_list("pk", flat=True)[:BATCH]):
        matrix, now = _unit_vectors(rng, len(ids)), _now()
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(
                sql,
                [
                    (model, len(vector), vector.tobytes(), now, entry_id)
                    for entry_id, vector in zip(ids, matrix, strict=True)
                ],
            )
