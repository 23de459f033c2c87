"""Memory services as peers: their own storage, the same texts, the same vectors.

Both take their vectors from an address that speaks the embeddings call of OpenAI. Here
that is a server on loopback in this process, which knows every text by the number it
begins with and answers with the given vector: no model is asked, nothing leaves the
machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from crewship_memory.bench.peer_input import Ask, PeerInput
from crewship_memory.bench.peer_libraries import loadable_sqlite

BATCH: Final = 500
USER: Final = "bench"
# A text of an entry begins with its row, one of a question with this and its number.
QUESTION: Final = "q"


class Vectors:
    """The vectors of texts, read from the files without holding them."""

    def __init__(self, peer_data: PeerInput) -> None:
        self._file = (peer_data.folder / "vectors.f32").open("rb")
        self._vectors, self._dim = peer_data.question_vectors(), peer_data.dim

    def of(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a text; that of one nobody gave is the first's."""
        name = text.split(maxsplit=1)[0]
        if name.startswith(QUESTION) and name[1:].isdigit():
            vector: NDArray[np.float32] = self._vectors[int(name[1:])]
            return vector
        row, size = int(name) if name.isdigit() else 0, self._dim * 4
        return np.frombuffer(os.pread(self._file.fileno(), size, row * size), "<f4")


def embedding_server(vector: Callable[[str], NDArray[np.float32]]) -> str:
    """Serve the embeddings call on loopback from now on; return its base address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # An answer in one packet: else each waits for the acknowledgement of its head.
        wbufsize = 1 << 20
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            texts = json.loads(self.rfile.read(length))["input"]
            rows = [
                {"object": "embedding", "index": n, "embedding": vector(text).tolist()}
                for n, text in enumerate([texts] if isinstance(texts, str) else texts)
            ]
            usage = {"prompt_tokens": 0, "total_tokens": 0}
            answer = {"object": "list", "model": "given", "data": rows, "usage": usage}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"


def _row(text: str) -> int:
    return int(text.split(maxsplit=1)[0])


def mcp_memory(peer_data: PeerInput) -> Ask:
    """Ask ``mcp-memory-service`` over its SQLite storage."""
    url = embedding_server(Vectors(peer_data).of)
    os.environ |= {
        "MCP_EXTERNAL_EMBEDDING_URL": f"{url}/embeddings",
        "MCP_EXTERNAL_EMBEDDING_MODEL": "given",
        "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
        "MCP_MEMORY_BASE_DIR": str(peer_data.own),
        "MCP_SEMANTIC_DEDUP_ENABLED": "false",
    }
    loadable_sqlite()
    memory = import_module("mcp_memory_service.models.memory").Memory
    content_hash = import_module("mcp_memory_service.utils.hashing")
    module = import_module("mcp_memory_service.storage.sqlite_vec")
    storage = module.SqliteVecMemoryStorage(str(peer_data.own / "memories.db"))
    loop = asyncio.new_event_loop()
    loop.run_until_complete(storage.initialize())
    texts = (text for _, text in peer_data.texts())
    while batch := list(islice(texts, BATCH)):
        hashes = map(content_hash.generate_content_hash, batch)
        memories = [
            memory(content=text, content_hash=digest)
            for text, digest in zip(batch, hashes, strict=True)
        ]
        stored = loop.run_until_complete(storage.store_batch(memories))
        if not all(accepted for accepted, _ in stored):
            raise SystemExit("mcp-memory-service did not store every text")

    def ask(number: int) -> Sequence[int]:
        question = peer_data.questions[number]
        results = loop.run_until_complete(
            storage.retrieve(question, n_results=peer_data.top)
        )
        return [_row(result.memory.content) for result in results]

    return ask


def mem0(peer_data: PeerInput) -> Ask:
    """Ask mem0 over its default store; ``infer=False`` keeps texts as they are."""
    url = embedding_server(Vectors(peer_data).of)
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(peer_data.own / "mem0")}
    model = {"openai_base_url": url, "api_key": "none", "model": "given"}
    store = {
        "path": str(peer_data.own / "qdrant"),
        "on_disk": True,
        "collection_name": "bench",
        "embedding_model_dims": peer_data.dim,
    }
    memory = import_module("mem0").Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": store},
            "embedder": {"provider": "openai", "config": model},
            "llm": {"provider": "openai", "config": model},
            "history_db_path": str(peer_data.own / "history.db"),
        }
    )
    for _, text in peer_data.texts():
        memory.add(text, user_id=USER, infer=False)

    def ask(number: int) -> Sequence[int]:
        results = memory.search(
            peer_data.questions[number],
            filters={"user_id": USER},
            top_k=peer_data.top,
            threshold=0.0,
        )
        return [_row(result["memory"]) for result in results["results"]]

    return ask
