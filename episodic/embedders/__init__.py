"""Sentence embedders, each behind the same interface.

onnxruntime reports its use to its maker over the network unless the environment forbids
it when the library is loaded. Every module that loads it lies in this package.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
