"""The real AtomicMemory client, through everything it does."""

from __future__ import annotations

import os
import time
import uuid
from datetime import UTC, datetime

from atomicmemory import MemoryClient
from atomicmemory.memory.types import MemoryRef, Scope, SearchRequest
from atomicmemory.providers.atomicmemory.handle import (
    AtomicMemoryIngestInput,
    AtomicMemorySearchRequest,
    UserScope,
)
from atomicmemory.tools import memory_tools
from steps import Steps

steps = Steps("atomicmemory")
base = os.environ["HOUSE_URL"] + "/compat/atomicmemory"
user = "u-" + uuid.uuid4().hex[:8]
scope = {"user": user}
thread = {"user": user, "thread": "t-1"}


def client(key: str, url: str = base) -> MemoryClient:
    memory_client = MemoryClient(
        providers={"atomicmemory": {"apiUrl": url, "apiKey": key}}
    )
    memory_client.initialize()
    return memory_client


memory = client(os.environ["HOUSE_KEY"])
provider = memory.get_provider()

# ── Taking in: three modes ───────────────────────────────────────────────────
text = steps.run(
    "ingest text",
    lambda: memory.ingest(
        {
            "mode": "text",
            "content": "The warehouse in Brno closes at six. Refunds need a receipt.",
            "scope": scope,
            "provenance": {"source": "handbook", "source_url": "https://x.example/1"},
        }
    ),
)
steps.expect("text made memories", text and len(text.created) == 2)
messages = steps.run(
    "ingest messages",
    lambda: memory.ingest(
        {
            "mode": "messages",
            "messages": [
                {"role": "user", "content": "I always ride the night train to Vienna."},
                {"role": "assistant", "content": "Noted, thank you!"},
            ],
            "scope": thread,
        }
    ),
)
steps.expect("messages made a memory", messages and len(messages.created) == 1)
verbatim = steps.run(
    "ingest verbatim",
    lambda: memory.ingest(
        {
            "mode": "verbatim",
            "content": "Deploys wait for a green check.",
            "kind": "fact",
            "scope": scope,
            "metadata": {"externalId": "rule-7"},
        }
    ),
)
steps.expect("verbatim made one memory", verbatim and len(verbatim.created) == 1)
before = datetime.now(UTC)
time.sleep(0.05)
repeated = steps.run(
    "ingest verbatim again, corrected",
    lambda: memory.ingest(
        {
            "mode": "verbatim",
            "content": "Deploys wait for two green checks.",
            "scope": scope,
            "metadata": {"externalId": "rule-7"},
        }
    ),
)
memory_id = verbatim.created[0] if verbatim else "rec_none"
steps.expect(
    "the external id is one memory",
    repeated and repeated.updated == [memory_id],
    repeated,
)
ref = {"id": memory_id, "scope": scope}

# ── Asking ───────────────────────────────────────────────────────────────────
page = steps.run(
    "search", lambda: memory.search({"query": "green check", "scope": scope})
)
steps.expect("search finds it", page and page.results[0].memory.id == memory_id)
steps.expect("the hit tells when", page and page.results[0].observed_at)
steps.expect("there is a receipt", page and page.retrieval and page.retrieval.trace_id)
page = steps.run(
    "search in a thread",
    lambda: memory.search({"query": "night train to Vienna", "scope": thread}),
)
steps.expect(
    "only the thread's rows",
    page and {hit.memory.scope.thread for hit in page.results} == {"t-1"},
)
page = steps.run(
    "search above a threshold",
    lambda: memory.search(
        {"query": "zebra quantum opera", "scope": scope, "threshold": 0.95}
    ),
)
steps.expect("nothing is that near", page is not None and page.results == [])
page = steps.run(
    "search in another namespace",
    lambda: memory.search(
        {"query": "green check", "scope": {"user": user, "namespace": "elsewhere"}}
    ),
)
steps.expect("another namespace is empty", page is not None and page.results == [])
past = steps.run(
    "search_as_of",
    lambda: provider.search_as_of(
        SearchRequest(query="green check", scope=Scope(user=user)), before
    ),
)
steps.expect(
    "the past knows one check",
    past
    and [h.memory.content for h in past.results if h.memory.id == memory_id]
    == ["Deploys wait for a green check."],
    past and [h.memory.content for h in past.results],
)

# ── Lists ────────────────────────────────────────────────────────────────────
seen_ids: list[str] = []
cursor, pages = None, 0
while pages < 10:
    list_request = {
        "scope": scope,
        "limit": 2,
        **({"cursor": cursor} if cursor else {}),
    }
    part = steps.run(
        f"list page {pages + 1}",
        lambda list_request=list_request: memory.list(list_request),
    )
    if part is None:
        break
    seen_ids += [row.id for row in part.memories]
    cursor, pages = part.cursor, pages + 1
    if cursor is None:
        break
steps.expect(
    "paging sees each once", len(seen_ids) == len(set(seen_ids)) == 4, seen_ids
)
steps.expect("paging ends", cursor is None and pages <= 3, pages)
part = steps.run("list a thread", lambda: memory.list({"scope": thread}))
steps.expect("the thread holds one", part and len(part.memories) == 1)

# ── One by one ───────────────────────────────────────────────────────────────
got = steps.run("get", lambda: memory.get(ref))
steps.expect(
    "get returns it", got and got.content == "Deploys wait for two green checks."
)
missing_result = steps.run(
    "get what is not there", lambda: memory.get({"id": "rec_nobody", "scope": scope})
)
steps.expect("a miss is None", missing_result is None)
memory_ref = MemoryRef(id=memory_id, scope=Scope(user=user))
history = steps.run("history", lambda: provider.history(memory_ref))
steps.expect(
    "history is linked",
    history
    and [v.event for v in history] == ["created", "updated"]
    and history[1].parent_id == history[0].id,
)

# ── Packages ─────────────────────────────────────────────────────────────────
for form in ("flat", "tiered", "structured"):
    extracted = steps.run(
        f"package {form}",
        lambda form=form: memory.package(
            {
                "query": "what about deploys and refunds?",
                "scope": scope,
                "token_budget": 100,
                "format": form,
            }
        ),
    )
    steps.expect(
        f"{form} keeps its budget",
        extracted
        and 0 < extracted.tokens <= 100
        and isinstance(extracted.budget_constrained, bool),
        extracted and extracted.tokens,
    )

# ── Health, and the wider surface ────────────────────────────────────────────
steps.run("capabilities", lambda: memory.capabilities())
healthy = steps.run("health", lambda: provider.health())
steps.expect("it is well", healthy and healthy.ok)
handle = memory.atomicmemory
user_scope = UserScope(userId=user)
wide = AtomicMemorySearchRequest(
    query="deploys", retrieval_mode="tiered", token_budget=200
)
handle_hits = steps.run("handle search", lambda: handle.search(wide, user_scope))
steps.expect("handle search finds", handle_hits and handle_hits.count >= 1)
fast = AtomicMemorySearchRequest(query="deploys")
steps.run("handle search_fast", lambda: handle.search_fast(fast, user_scope))
handle_page = steps.run("handle list", lambda: handle.list(user_scope, {"limit": 2}))
steps.expect("handle list counts all", handle_page and handle_page.count == 4)
ingested = AtomicMemoryIngestInput(
    conversation="user: Parcels go out on Mondays.", source_site="desk"
)
steps.run("handle ingest_full", lambda: handle.ingest_full(ingested, user_scope))
quick = AtomicMemoryIngestInput(
    conversation="Keys hang by the door.", source_site="desk"
)
steps.run("handle ingest_quick", lambda: handle.ingest_quick(quick, user_scope, True))
expanded = steps.run("handle expand", lambda: handle.expand([memory_id], user_scope))
steps.expect(
    "expand gives the text", expanded and expanded[0].content.endswith("checks.")
)
steps.run("handle get", lambda: handle.get(memory_id, user_scope))
stats = steps.run("handle lifecycle.stats", lambda: handle.lifecycle.stats(user))
steps.expect("stats count", stats and stats.count == 6, stats)
steps.run("handle lifecycle.cap", lambda: handle.lifecycle.cap(user))
steps.run(
    "handle lifecycle.consolidate scan", lambda: handle.lifecycle.consolidate(user)
)
steps.run("handle lifecycle.decay dry run", lambda: handle.lifecycle.decay(user))
steps.expect_error(
    "handle lifecycle.decay for real",
    "ProviderError",
    lambda: handle.lifecycle.decay(user, dry_run=False),
)
reset = steps.run(
    "handle lifecycle.reset_source", lambda: handle.lifecycle.reset_source(user, "desk")
)
steps.expect("the desk's two are gone", reset and reset.deleted_memories == 2, reset)
steps.run("handle audit.summary", lambda: handle.audit.summary(user))
recent = steps.run("handle audit.recent", lambda: handle.audit.recent(user, 5))
steps.expect("recent mutations", recent and recent.count >= 4)
steps.run("handle audit.trail", lambda: handle.audit.trail(memory_id, user))
steps.run("handle lessons.list", lambda: handle.lessons.list(user))
steps.run("handle lessons.stats", lambda: handle.lessons.stats(user))
steps.run("handle config.health", lambda: handle.config.health())
steps.expect_error(
    "handle agents.get_trust",
    "ProviderError",
    lambda: handle.agents.get_trust(user, "a-1"),
)

# ── A model's tools ──────────────────────────────────────────────────────────
tools = memory_tools(client=memory, user=user)
cross_user = steps.run(
    "tool memory_ingest",
    lambda: tools["memory_ingest"].execute(
        {"content": "Invoices are paid on Fridays."}
    ),
)
steps.expect(
    "the tool stored", cross_user and (cross_user.created or cross_user.updated)
)
answer = steps.run(
    "tool memory_search",
    lambda: tools["memory_search"].execute({"query": "When are invoices paid?"}),
)
steps.expect("the tool found", answer and "Fridays" in answer.model_dump_json())

# ── Walls ────────────────────────────────────────────────────────────────────
for key_name in ("HOUSE_OTHER_KEY", "HOUSE_STRANGER_KEY"):
    foreign = client(os.environ[key_name])
    page = steps.run(
        f"search with {key_name}",
        lambda foreign=foreign: foreign.search(
            {"query": "green checks", "scope": scope}
        ),
    )
    steps.expect(f"{key_name} sees nothing", page is not None and page.results == [])
    got = steps.run(f"get with {key_name}", lambda foreign=foreign: foreign.get(ref))
    steps.expect(f"{key_name} gets nothing", got is None)
bad = "cmk_" + "x" * 43
error = steps.expect_error(
    "a key nobody knows",
    "ProviderError",
    lambda: client(bad).search({"query": "x", "scope": scope}),
)
steps.expect("the key is not echoed", bad not in str(error))
steps.expect_error(
    "no user", "InvalidScopeError", lambda: memory.search({"query": "x", "scope": {}})
)
unreachable = client(os.environ["HOUSE_KEY"], "http://127.0.0.1:9")
steps.expect_error(
    "nobody there",
    "AtomicMemoryError",
    lambda: unreachable.search({"query": "x", "scope": scope}),
)

# ── Gone ─────────────────────────────────────────────────────────────────────
steps.run("delete", lambda: memory.delete(ref))
steps.run("delete twice", lambda: memory.delete(ref))
steps.expect("it is gone", memory.get(ref) is None)
page = steps.run(
    "search after", lambda: memory.search({"query": "green checks", "scope": scope})
)
steps.expect(
    "and not found",
    page is not None and memory_id not in [h.memory.id for h in page.results],
)
memory.close()
steps.finish()
