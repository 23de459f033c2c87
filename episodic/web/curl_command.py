"""The explorer's question as a curl command for the JSON API."""

from __future__ import annotations

import json
import shlex
from typing import Any

from django.urls import reverse

from episodic.recall.request import Request
from memory.journal import append as journal


def _body(request: Request) -> dict[str, Any]:
    """Return the same question for the JSON API; what is not set stays out."""
    moments = {
        "since": request.since,
        "until": request.until,
        "as_of": request.as_of,
    }
    fields: dict[str, Any] = {
        "query": request.query,
        "agent_id": request.agent_id,
        "crew_id": request.crew_id,
        "scope": request.scope,
        "mode": request.mode.value,
        "fusion": request.fusion.value if request.fusion else None,
        "k": request.k,
        "entry_types": list(request.entry_types) or None,
        **{k: journal.stamp(v) if v else None for k, v in moments.items()},
        "min_score": request.min_score,
        "walk_depth": request.walk_depth,
        "explain": True,
        "mark": False,
    }
    return {name: value for name, value in fields.items() if value is not None}


def build(request: Request, origin: str) -> str:
    """Return the question as a command for a shell; the key stays in a variable."""
    url = origin + reverse("api:recall_entries")
    body = json.dumps(_body(request), ensure_ascii=False, indent=2)
    return (
        f"curl -sS {shlex.quote(url)} \\\n"
        '  -H "Authorization: Bearer $CREWSHIP_KEY" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        f"  -d {shlex.quote(body)}"
    )
