"""Open project, session and lock for a verb, and close them again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from skillgit.cli.output import say
from skillgit.train.project import Project

if TYPE_CHECKING:
    from skillgit.train.events import Event
    from skillgit.train.session import Session

T = TypeVar("T")


@contextmanager
def project(overrides: Iterable[tuple[str, str, str]] = (), *, start: Path | None = None) -> Iterator[Project]:
    """The project around a folder, the working directory unless given."""
    opened = Project.open(start or Path.cwd(), overrides)
    try:
        yield opened
    finally:
        opened.close()


async def with_session(
    opened: Project,
    name: str,
    work: Callable[[Session], Awaitable[T]],
    *,
    optimizer: bool = False,
    target: str | None = None,
    yes: bool = False,
) -> T:
    """Run `work` on a skill's session, with progress shown.

    Models are opened before the display begins: fetching weights may ask, and has a progress bar of its own.
    """
    from skillgit.cli.progress import watching

    session = opened.session(name, _unwatched, optimizer=optimizer, target=target, yes=yes, say=say)
    try:
        with watching() as session.listener:
            return await work(session)
    finally:
        await session.close()


def _unwatched(event: Event) -> None:
    """Nothing happens before the display begins."""


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on an event loop of its own."""
    import asyncio

    return asyncio.run(work)
