"""What every process that a test starts has loaded: Django, and the crash tests' code.

It opens no connection and starts no thread: its copies would share them.
"""

from __future__ import annotations

import django

django.setup()

from gdpr import erasure  # noqa: E402
from memory.accounts import api_keys  # noqa: E402
from memory.files import writer  # noqa: E402
from memory.journal import append  # noqa: E402
from tests import processes  # noqa: E402

__all__ = ["api_keys", "append", "erasure", "processes", "writer"]
