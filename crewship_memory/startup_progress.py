"""Progress lines of ``manage.py up``: one per step, printed when it begins."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from io import TextIOBase

Progress = Callable[[str], None]
# Seconds between two requests to a server that does not answer yet.
AGAIN_SECONDS = 0.1


def quiet(_step: str) -> None:
    """Print nothing."""


def lines(stream: TextIOBase) -> Progress:
    """Return a function that prints a step and flushes."""

    def step(text: str) -> None:
        stream.write(f"  {text}\n")
        stream.flush()

    return step


def answers(host: str, port: int, name: str = "localhost") -> bool:
    """Whether a web server answers at an address, with ``name`` as Host."""
    connection = http.client.HTTPConnection(host, port, timeout=10)
    try:
        connection.request("GET", "/livez", headers={"Host": name})
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def when_it_answers(
    act: Callable[[], None], host: str, port: int, name: str = "localhost"
) -> threading.Thread:
    """Call a function once the server at an address answers; return the thread."""

    def wait() -> None:
        pause = threading.Event()
        while not answers(host, port, name):
            pause.wait(AGAIN_SECONDS)
        act()

    thread = threading.Thread(target=wait, name="readiness", daemon=True)
    thread.start()
    return thread
