"""How a long download is shown: a bar on a terminal, a line per quarter elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Say = Callable[[str], None]
Progress = Callable[[int], None]
"""Takes the number of bytes that are there by now; it may fall back to 0 when a source starts anew."""


@contextmanager
def shown(title: str, total: int, say: Say) -> Iterator[Progress]:
    """Show how much of `total` bytes is there while the block runs."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
        from rich.progress import Progress as Bars

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        with Bars(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bars:
            task = bars.add_task(title, total=total)
            yield lambda done: bars.update(task, completed=done)
    else:
        yield _quarters(title, total, say)


def _quarters(title: str, total: int, say: Say) -> Progress:
    told = 0

    def progress(done: int) -> None:
        nonlocal told
        quarter = 4 * done // total if total else 4
        if quarter > told:
            say(f"{title}: {25 * quarter} %")
        told = quarter

    return progress
