"""The embedder for installations without one: recall is by words alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from episodic.embedders import base
from memory.rules.translation import gettext_noop

if TYPE_CHECKING:
    from collections.abc import Sequence

SENTENCE = gettext_noop("No embedder is configured; recall works on words alone.")


class NoEmbedder:
    """Raises NotConfigured for every text, so no vector is ever made up."""

    name = "none"
    model = ""
    dim = None

    def embed_documents(self, texts: Sequence[str]) -> base.Vectors:  # noqa: ARG002  # the protocol
        """Always raise NotConfigured, also for no texts."""
        raise base.NotConfigured(SENTENCE)

    def embed_query(self, text: str) -> base.Vectors:  # noqa: ARG002  # the protocol
        """Always raise NotConfigured."""
        raise base.NotConfigured(SENTENCE)
