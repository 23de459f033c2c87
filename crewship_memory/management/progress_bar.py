"""A progress bar for what a service works through, one line per thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, TaskID

Watch = Callable[[str, int, int], object]


@contextmanager
def shown(console: Console, *, show: bool) -> Iterator[Watch]:
    """Yield a function that is told what is worked on, how far it is, and the total."""
    if not show:
        yield lambda _name, _count, _total: None
        return
    with Progress(console=console, transient=True) as progress:
        bars: dict[str, TaskID] = {}

        def watch(name: str, count: int, total: int) -> None:
            for other, bar in bars.items():
                progress.update(bar, visible=other == name)
            if name not in bars:
                bars[name] = progress.add_task(name)
            progress.update(bars[name], completed=count, total=total or None)

        yield watch
