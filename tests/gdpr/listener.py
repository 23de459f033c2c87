"""A process with caches that flushes them on orders; started by the tests.

``python -m tests.gdpr.listener WORKSPACE QUESTION`` runs a query once, then prints for
every line on standard input what is cached: queries, names, words.
"""

from __future__ import annotations

import sys
import time

import django


def main() -> None:
    """Run a recall, start the listener, and print what is cached on request."""
    django.setup()
    from django.conf import settings

    settings.EMBEDDER = "hashing"
    from episodic.index import engine
    from gdpr import linking
    from gdpr.erasure import process_caches
    from gdpr.models import LiveProcess
    from memory import fulltext
    from memory.word_index import scoring, terms
    from memory.word_index.cache import indexes

    workspace_id, question = sys.argv[1:]

    def fill() -> None:
        engine.embedder().embed_query(question)
        linking.people_index(workspace_id)
        if fulltext.is_sqlite():
            indexes.view(workspace_id)

    def words() -> int:
        """Count what is in memory of the question's first word."""
        loaded = [cached.index for cached in indexes._indexes.values() if cached.index]
        numbers = list(terms.of_words(question.split()[:1]))
        places = [scoring.terms_of(index.view(), numbers) for index in loaded]
        return sum(map(len, places))

    def count_text() -> str:
        questions = engine.embedder().count(lambda text: text == question)
        return f"{questions} {len(linking._cache)} {words()}"

    fill()
    listener = process_caches.listen()
    while not LiveProcess.objects.filter(pk=listener.name).exists():
        time.sleep(0.05)
    print(count_text(), flush=True)  # noqa: T201
    for _ in sys.stdin:
        print(count_text(), flush=True)  # noqa: T201
    process_caches.stop()


if __name__ == "__main__":
    main()
