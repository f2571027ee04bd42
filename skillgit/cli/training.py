"""Opens what a training or its estimate needs, with the person's wishes: budget, listeners, Ctrl-C."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillgit.cli import opened
from skillgit.cli.output import say
from skillgit.errors import InterruptedRunError
from skillgit.models.base import Json, Model, Reply, Request
from skillgit.models.cache import CallCache
from skillgit.models.registry import PROVIDERS
from skillgit.store.locks import SkillLock
from skillgit.train.archive import documents
from skillgit.train.events import Note
from skillgit.train.loop import Outcome, train
from skillgit.train.project import CACHE_FILE, Project
from skillgit.train.session import Session
from skillgit.train.spend.budget import Budget, Meter, require_prices
from skillgit.train.spend.estimate import Estimate, too_small
from skillgit.train.spend.estimate import estimate as estimated
from skillgit.train.spend.estimate_stages import survey
from skillgit.train.spend.stopping import MEND, Interrupts
from skillgit.train.start import RUN_SETTINGS, base_of, unfinished
from skillgit.train.watch.callbacks import Listeners
from skillgit.train.watch.eventlog import open_log
from skillgit.train.watch.trackers import Training, open_tracker


def run(
    project: Project,
    name: str,
    *,
    fresh: bool,
    budget: Budget,
    events: Path | None,
    trackers: Sequence[str],
    yes: bool,
) -> Outcome:
    """Train, with everything that watches.

    Raises:
        InterruptedRunError: a person stopped it; the same command goes on.
    """

    async def work(session: Session) -> Outcome:
        _hold_to(session, budget)
        listeners.display, session.listener = session.listener, listeners
        try:
            with SkillLock.acquire(session.repo, name, "train") as lock:
                _warn(session, budget, fresh=fresh)
                with Interrupts(lambda text: session.tell(Note(text))) as stop:
                    try:
                        return await train(session, lock, fresh=fresh, stop=stop)
                    finally:
                        _say_trouble(session)
        finally:
            listeners.close()

    settings = project.config.skill(name)
    sections = {section: getattr(settings, section).model_dump() for section in RUN_SETTINGS}
    models = {role: project.config.model(name, role).model for role in ("target", "optimizer")}
    # Before the display begins: a tracker may ask for a key.
    watchers = [open_tracker(t, Training(name, sections, models, project.repo.state_dir)) for t in trackers]
    listeners = Listeners(watchers if events is None else [*watchers, open_log(events)])
    try:
        return opened.run(opened.with_session(project, name, work, optimizer=True, yes=yes))
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise InterruptedRunError("interrupted", mend=MEND) from None
    finally:
        listeners.close()


def estimate(project: Project, name: str, budget: Budget) -> Estimate:
    """What a whole new run will take. No call is made, so neither keys nor weights are needed."""

    async def work() -> Estimate:
        settings, environment = project.config.skill(name), project.environment(name)
        target, optimizer = (_unopened(project, name, role) for role in ("target", "optimizer"))
        cache = CallCache.open(project.repo.state_dir / CACHE_FILE)
        session = Session(name, settings, project.repo, environment, target, optimizer, cache, lambda _: None)
        try:
            require_prices(budget, [target.name, optimizer.name])
            say(f"an estimate of a whole run of {name}; no call is made")
            return _estimate(session)
        finally:
            await session.close()

    return opened.run(work())


class _Unopened:
    """A model that is known by name alone."""

    def __init__(self, name: str, in_flight: int) -> None:
        self.name, self.in_flight = name, in_flight
        self.settings: Mapping[str, Json] = {}

    async def complete(self, request: Request) -> Reply:
        raise AssertionError("an estimate makes no call")

    async def close(self) -> None:
        """There is nothing to give back."""


def _unopened(project: Project, name: str, role: str) -> Model:
    model = project.config.model(name, "target" if role == "target" else "optimizer").model
    provider = model.partition("/")[0]
    if provider not in PROVIDERS:
        return project.model(name, role, say=say)  # which says what is wrong with it
    return _Unopened(model, 1 if provider == "local" else project.config.limits.in_flight)


def _hold_to(session: Session, budget: Budget) -> None:
    require_prices(budget, [model for model in session.model_names.values() if model])
    session.meter = Meter(budget)


def _warn(session: Session, budget: Budget, *, fresh: bool) -> None:
    """A budget that cannot pay for a few proposals is said before any of it is spent; of a run that goes on, a part is
    paid for already."""
    if not fresh and unfinished(session) is not None:
        return
    short = too_small(budget, _estimate(session)) if budget else None
    if short is not None:
        session.tell(Note(short))


def _say_trouble(session: Session) -> None:
    """What the endpoints cost in time, once: it explains a slow run."""
    models = {id(model): model for model in (session.target, session.optimizer) if model is not None}
    hedges, overloads = (sum(getattr(model, what, 0) for model in models.values()) for what in ("hedges", "overloads"))
    if hedges or overloads:
        hung = f"{hedges} call{'s hung and were' if hedges != 1 else ' hung and was'} sent again"
        busy = f"{overloads} call{'s were' if overloads != 1 else ' was'} refused for the server's load and tried again"
        session.tell(Note("; ".join(text for text, count in ((hung, hedges), (busy, overloads)) if count)))


def _estimate(session: Session) -> Estimate:
    repo, settings = session.repo, session.settings
    start = repo.read_ref(session.refs.branch) or base_of(repo, settings)
    placed = documents.read(repo, start, settings.document)
    return estimated(survey(session, placed.text))
