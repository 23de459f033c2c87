"""The end of the web server: who is connected, or about to be, gets an answer.

Linux keeps a queue of new connections for each process that listens on a port, and
resets those in it when that process closes. So the system is told to leave requests for
new connections unanswered: what is in the queue, or half open, is taken and answered,
and whoever is left unanswered asks again a second later, when another process of the
port has its turn. Two processes on one port, 48 clients without a pause, four restarts:
165 requests were reset or unanswered without this, none with it.

Connections that are kept open end with their next answer, which says so. One that stays
silent is closed after SILENT_SECONDS.
"""

from __future__ import annotations

import ctypes
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from waitress import wasyncore

# How long half-open connections have to complete. A client that got no answer asks
# again after one second.
HALF_OPEN_SECONDS: Final = 0.5
# How long a connection without a request stays open, where others serve the port.
SILENT_SECONDS: Final = 5.0
# How long connections are taken from the queue. Where nothing keeps new ones away, it
# need not become empty.
QUEUE_SECONDS: Final = 1.0
# What is under way gets so long, less where nobody else serves: `up` has more to end.
LONGEST_SECONDS: Final = 14.0
LONGEST_ALONE_SECONDS: Final = 5.0
THREADS_SECONDS: Final = 1
PASS_SECONDS: Final = 0.05
# Linux: the option, and a program for it in the system's own filter language (BPF). It
# drops segments that ask for a connection (SYN without ACK) and passes all others.
SO_ATTACH_FILTER: Final = 26
_PASS_ALL_BUT_SYN: Final = (
    (0x30, 0, 0, 13),  # the byte of flags
    (0x54, 0, 0, 0x12),  # SYN and ACK of it
    (0x15, 0, 1, 0x02),  # only SYN?
    (0x06, 0, 0, 0),  # drop
    (0x06, 0, 0, 0xFFFF_FFFF),  # pass
)


@dataclass(slots=True)
class ServerState:
    """Whether the process was asked to end; its answers end their connections then."""

    is_ending: bool = False


def run(
    web: Any, connections: dict[int, Any], state: ServerState, *, is_shared: bool
) -> None:
    """Serve until SIGTERM or Ctrl-C, then until nothing is left to answer."""

    def end(_signal: int, _frame: object) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        state.is_ending = True
        web.pull_trigger()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    while not state.is_ending:
        _serve(connections, web.adj.asyncore_loop_timeout)
    _end(web, connections, is_shared=is_shared)
    web.task_dispatcher.shutdown(timeout=THREADS_SECONDS)
    # The process may live on for seconds: nobody is to send a request into silence.
    for channel in list(web.active_channels.values()):
        channel.handle_close()


def _serve(connections: dict[int, Any], seconds: float) -> None:
    """Read and write what can be, after at most so many seconds."""
    wasyncore.loop(seconds, use_poll=True, map=connections, count=1)


def _end(web: Any, connections: dict[int, Any], *, is_shared: bool) -> None:
    start = time.monotonic()
    if is_shared and leave_unanswered(web.socket):
        while time.monotonic() - start < HALF_OPEN_SECONDS:
            _serve(connections, PASS_SECONDS)
    until = time.monotonic() + QUEUE_SECONDS
    while _takes_one(web) and time.monotonic() < until:
        _serve(connections, 0)
    # The listener alone: its trigger is what wakes this loop.
    wasyncore.dispatcher.close(web)
    silent = SILENT_SECONDS if is_shared else 0.0
    longest = LONGEST_SECONDS if is_shared else LONGEST_ALONE_SECONDS
    is_over = False
    while web.active_channels and time.monotonic() - start < longest:
        _serve(connections, PASS_SECONDS)
        was_over = is_over
        is_over = time.monotonic() - start >= silent and not _is_any_busy(web)
        # What came in the last moment has been read in the pass between.
        if was_over and is_over:
            return


def leave_unanswered(listener: socket.socket) -> bool:
    """Leave requests for new connections unanswered; False where no system can."""
    if sys.platform != "linux":
        return False
    lines = b"".join(struct.pack("HBBI", *line) for line in _PASS_ALL_BUT_SYN)
    memory = ctypes.create_string_buffer(lines, len(lines))
    program = struct.pack("HP", len(_PASS_ALL_BUT_SYN), ctypes.addressof(memory))
    with suppress(OSError):
        listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
        return True
    return False


def _takes_one(web: Any) -> bool:
    """Take a connection from the queue of the system; False when it is empty."""
    count = len(web.active_channels)
    web.handle_accept()
    return len(web.active_channels) > count


def _is_any_busy(web: Any) -> bool:
    """Whether a request is read or answered, or an answer not sent yet."""
    return any(
        channel.requests or channel.request is not None or channel.total_outbufs_len
        for channel in web.active_channels.values()
    )
