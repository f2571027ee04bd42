"""A run as people see it: a live display on a terminal, one line per step elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from skillgit.cli.output import colour, counted, is_terminal, one_line, say
from skillgit.train.events import (
    Event,
    Listener,
    Note,
    RunFinished,
    RunStarted,
    StageStarted,
    StepFinished,
    UnitDone,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

MARKS = {"accept-best": "green", "accept": "green", "forced": "green", "reject": "red", "indecisive": "yellow"}
ACCEPTED = ("accept-best", "accept", "forced")


def points(score: Fraction | None) -> str:
    """A score as people read it: percent with one decimal."""
    return "-" if score is None else f"{float(score) * 100:.1f}%"


def reached(score: Fraction | None, maximum: Fraction | None) -> str:
    """A candidate's score, or after an early rejection what it could still have reached."""
    return points(score) if maximum is None else f"at most {points(maximum)}"


def decided(kind: str, decision: str) -> str:
    """A decision, with what it was about where that is no step: `slow-update reject`."""
    return decision if kind in ("step", decision) else f"{kind} {decision}"


def money(usd: Decimal | None) -> str:
    """Dollars to go behind a count; nothing where the price is not known, or nothing was paid."""
    return f", ${usd:.4f}" if usd else ""


def step_line(event: StepFinished) -> str:
    """One line per step, the same on a terminal and in a log."""
    if event.decision in ("baseline", "human", "remeasure"):
        return f"step {event.step}  {event.decision}  val {points(event.score)}"
    parts = [f"step {event.step}", f"epoch {event.epoch}", decided(event.kind, event.decision)]
    if event.before is not None:
        parts.append(f"val {points(event.before)} -> {reached(event.score, event.maximum)}")
    parts.append(f"best {points(event.best)}")
    if event.edits:
        parts.append(f"{event.edits} edit{'s' if event.edits > 1 else ''}")
    parts.append(f"{counted(event.calls, 'call')}, {counted(event.tokens, 'token')}{money(event.usd)}")
    return "  ".join(parts) + f"  ({one_line(event.reason)})"


@dataclass(slots=True)
class Tally:
    """What has happened so far in this command. `settled` are the tokens of finished steps, the optimizer's too."""

    steps: int = 0
    epochs: int = 0
    step: int = 0
    epoch: int = 0
    stage: str = ""
    done: int = 0
    total: int = 0
    documents: int = 1
    passed: Fraction = Fraction(0)
    scored: int = 0
    best: Fraction | None = None
    accepted: int = 0
    rejected: int = 0
    tokens: int = 0
    settled: int = 0
    started: float = field(default_factory=time.monotonic)

    def see(self, event: Event) -> None:
        """Count an event."""
        if isinstance(event, RunStarted):
            self.steps, self.epochs = event.steps, event.epochs
        elif isinstance(event, StageStarted):
            self.step, self.epoch, self.stage = event.step, event.epoch, event.stage
            self.done, self.total, self.documents = 0, event.total, event.documents
            self.passed, self.scored = Fraction(0), 0
        elif isinstance(event, UnitDone):
            self.done += 1
            self.tokens += event.usage.tokens
            if event.score is not None:
                self.passed, self.scored = self.passed + event.score, self.scored + 1
        elif isinstance(event, StepFinished):
            self.best = event.best
            self.settled += event.tokens
            self.tokens = self.settled
            self.accepted += event.decision in ACCEPTED
            self.rejected += event.decision == "reject"

    def line(self) -> str:
        """Epoch, step, stage, tasks done, score, accepted and rejected, tokens, time."""
        # Attempts under several documents have no score that would be anything's.
        mean = self.passed / self.scored if self.scored and self.documents == 1 else None
        count = f" {self.done}/{max(self.total, self.done)}" if self.total or self.done else ""
        seconds = int(time.monotonic() - self.started)
        return "  ".join(
            [
                f"epoch {self.epoch}/{self.epochs or '-'}",
                f"step {self.step}/{self.steps or '-'}",
                f"{self.stage}{count}",
                f"now {points(mean)}",
                f"best {points(self.best)}",
                f"+{self.accepted} -{self.rejected}",
                f"{self.tokens} tokens",
                f"{seconds // 60}:{seconds % 60:02d}",
            ]
        )


def _steps(number: int) -> str:
    return f"{number} step{'' if number == 1 else 's'}"


def _line_of(event: Event) -> str | None:
    """What an event leaves behind in the scrollback or the log."""
    if isinstance(event, StepFinished):
        return colour(step_line(event), MARKS.get(event.decision, "dim"))
    if isinstance(event, Note):
        return f"note: {one_line(event.text)}"
    if isinstance(event, RunStarted):
        what = "goes on after" if event.resumed_at is not None else "begins"
        where = f" step {event.resumed_at}" if event.resumed_at is not None else f": {_steps(event.steps)}"
        return f"run {event.run} of {event.skill} {what}{where}"
    if isinstance(event, RunFinished):
        counts = f"{event.accepted} accepted, {event.rejected} rejected"
        return f"run finished after {_steps(event.steps)}: {event.reason}; {counts}"
    return None


@contextmanager
def watching() -> Iterator[Listener]:
    """A listener for as long as the block runs: live on a terminal, plain lines elsewhere."""
    if is_terminal():
        with _live() as listener:
            yield listener
    else:
        yield _plain


def _plain(event: Event) -> None:
    line = _line_of(event)
    if line is not None:
        say(line)


@contextmanager
def _live() -> Iterator[Listener]:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    tally = Tally()

    def show() -> RenderableType:
        return Text(tally.line() if tally.stage else "", style="bold", no_wrap=True, overflow="ellipsis")

    with Live(get_renderable=show, console=console, refresh_per_second=8, transient=True) as live:

        def listener(event: Event) -> None:
            tally.see(event)
            line = _line_of(event)
            if line is not None:
                live.console.print(Text.from_ansi(line))

        yield listener
