"""The scanner: what poisoned text and leaked secrets look like."""

from __future__ import annotations

from memory.rules.scanner.engine import scan

__all__ = ["scan"]
