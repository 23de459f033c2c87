"""A thread that is asked to end, and ends with the process in any case."""

from __future__ import annotations

import threading
from typing import Final

STOP_SECONDS: Final = 2.0


class StoppableThread(threading.Thread):
    """A daemon whose ``run`` watches ``ended``."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.ended = threading.Event()

    def stop(self) -> bool:
        """Ask it to end and wait; False when it was still busy after STOP_SECONDS."""
        self.ended.set()
        if self.ident is not None:
            self.join(STOP_SECONDS)
        return not self.is_alive()
