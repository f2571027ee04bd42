"""Speculation: the next mini-batch ahead of time, bounded, asked for once, and without any effect but on time."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support import training
from support.environments import load, write_env
from support.epochs import EpochWorld
from support.histories import differences, story
from support.server import Answer, Call, Server, error, serve
from support.training import MemoryCache, ScriptedModel, Watcher
from support.world import Kinds

from skillgit.envs.contract import Environment
from skillgit.errors import ModelRefusedError
from skillgit.models.base import Request
from skillgit.train.events import StageStarted, StepFinished
from skillgit.train.schedule import epoch_batches
from skillgit.train.scoring.rollout import Roller
from skillgit.train.speculation import Ahead, Guess

IN_FLIGHT, BATCH, SEED = 6, 4, 42
GUESS = Guess("# Document\n", "blob")


# The bookkeeping alone.


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return load(write_env(tmp_path / "env", "extract: whole\nscorer: exact\n"))


def roller_of(environment: Environment, model: ScriptedModel, ahead: Ahead, cache: MemoryCache) -> Roller:
    return Roller(environment, model, cache, on_usage=lambda _: None, flights=ahead.flights)


async def test_no_more_is_begun_than_slots_are_free_and_nothing_twice(environment: Environment) -> None:
    ahead, cache, model = Ahead(), MemoryCache(), ScriptedModel(lambda _: "word 1")
    roller, tasks = roller_of(environment, model, ahead, cache), environment.tasks("train")
    ahead.fill(roller, 4, GUESS)
    assert ahead.flights == {}  # nothing is planned
    ahead.plan(tasks)
    for free, begun in ((0, 0), (1, 1), (1, 1), (2, 2), (9, 3), (9, 3)):
        ahead.fill(roller, free, GUESS)
        assert len(ahead.flights) == begun
    await ahead.close()
    assert ahead.flights == {}
    ahead.fill(roller, 9, Guess("# Another\n", "other"))
    assert ahead.flights == {}  # one mini-batch, whatever it was begun on
    assert len(model.requests) == len(cache.entries) == len(tasks) == 3


async def test_a_step_waits_for_what_is_under_way(environment: Environment) -> None:
    ahead, model = Ahead(), ScriptedModel(lambda _: "word 1")
    roller, tasks = roller_of(environment, model, ahead, MemoryCache()), environment.tasks("train")
    ahead.plan(tasks)
    ahead.fill(roller, 2, GUESS)
    found = await roller.batch(GUESS.document, GUESS.blob, [(task, 0) for task in tasks], lambda _: None)
    assert [rollout.attempt.answer if rollout.attempt else None for rollout in found] == ["word 1"] * 3
    assert len(model.requests) == 3


async def test_attempts_that_a_stage_left_count_as_taken_slots(environment: Environment) -> None:
    ahead, model = Ahead(), ScriptedModel(lambda _: "word 1")
    roller, tasks = roller_of(environment, model, ahead, MemoryCache()), environment.tasks("train")
    work = roller.on("# Another\n", "other", lambda _: None)
    ahead.keep([asyncio.create_task(_attempt(work, task)) for task in tasks[:2]])
    ahead.plan(tasks)
    ahead.fill(roller, 2, GUESS)
    assert ahead.flights == {}
    ahead.fill(roller, 3, GUESS)
    assert len(ahead.flights) == 1
    await ahead.close()


async def _attempt(work: Callable[[Any], Any], task: Any) -> Any:
    return await work((task, 0))


async def test_what_failed_ahead_is_asked_again_by_the_stage(environment: Environment) -> None:
    def answer(_: Request) -> str:
        if len(model.requests) <= 2:
            raise ModelRefusedError("no", mend="never mind")
        return "word 1"

    ahead, model = Ahead(), ScriptedModel(answer)
    roller, tasks = roller_of(environment, model, ahead, MemoryCache()), environment.tasks("train")
    ahead.plan(tasks[:2])
    ahead.fill(roller, 9, GUESS)
    await asyncio.sleep(0.01)
    assert len(model.requests) == 2
    found = await roller.batch(GUESS.document, GUESS.blob, [(task, 0) for task in tasks[:2]], lambda _: None)
    assert all(rollout.attempt is not None for rollout in found)
    assert len(model.requests) == 4


# Whole runs.


@dataclass
class Desk:
    """Answers as a world does, and knows of each call which step was running; it can be told to answer otherwise.

    Args:
        otherwise: of a call and whether it is ahead of its step; None for the world's own answer.
    """

    world: EpochWorld
    watcher: Watcher
    otherwise: Callable[[Call, bool], Answer | None] = lambda _call, _ahead: None
    delay_s: Callable[[Call], float] = lambda _: 0.01
    most: int = 0
    ahead: list[tuple[int, str, str]] = field(default_factory=list)
    strange: list[tuple[int, str]] = field(default_factory=list)
    _now: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, call: Call) -> Answer:
        step = self._step()
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            early = self._early(step, call)
        try:
            time.sleep(self.delay_s(call))
            return self.otherwise(call, early) or self.world(call)
        finally:
            with self._lock:
                self._now -= 1

    def _step(self) -> int:
        return (
            max((event.step for event in list(self.watcher.events) if isinstance(event, StepFinished)), default=-1) + 1
        )

    def _early(self, step: int, call: Call) -> bool:
        if self.world.stage(call) != "train":
            return False
        task = self.world.task(call)
        if task in self.batch(step):
            return False
        if task in self.batch(step + 1):
            self.ahead.append((step, call.system, call.user))
            return True
        self.strange.append((step, task))
        return False

    def batch(self, step: int) -> set[str]:
        """A step's tasks; of step 0, the baseline, none."""
        ids = [row["id"] for row in self.world.tasks["train"]]
        each = -(-len(ids) // BATCH)
        epoch, place = divmod(step - 1, each)
        return set(epoch_batches(ids, BATCH, SEED, epoch + 1)[place]) if step else set()


class Office:
    """Runs trainings of one world in fresh repositories."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
        self._root, self._patch, self._stack = root, patch, stack
        self.world = EpochWorld(6, 6, per_topic=(2, 2, 1), kinds=Kinds(40, 40))

    def open(self, name: str, *, speculate: bool = True, **more: Any) -> tuple[Path, Desk, Server]:
        watcher = Watcher()
        desk = Desk(self.world, watcher, **more)
        config = training.configuration(
            limits=f"{{in_flight: {IN_FLIGHT}}}",
            train=f"{{num_epochs: 2, batch_size: {BATCH}, seed: {SEED}, speculate: {str(speculate).lower()}}}",
            evaluation="{racing: false}",  # what a race leaves under way differs from run to run
        )
        root = training.make(self._root / name, self.world, config=config)
        server = self._stack.enter_context(serve(desk))
        training.point_at(self._patch, server.env())
        return root, desk, server


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    with ExitStack() as stack:
        yield Office(tmp_path, monkeypatch, stack)


def asked(server: Server, world: EpochWorld) -> Counter[tuple[str, str]]:
    """How often each (document, input) was asked for."""
    return Counter((call.system, call.user) for call in server.calls if world.stage(call) in ("train", "val"))


async def test_at_most_one_mini_batch_ahead_and_nothing_twice(office: Office) -> None:
    root, desk, server = office.open("ahead")
    await training.run(root, desk.watcher)
    assert desk.strange == [], "tasks of a later step than the next one"
    steps = Counter(step for step, _, _ in desk.ahead)
    assert len(steps) >= 3
    assert max(steps.values()) <= BATCH
    assert 1 < desk.most <= IN_FLIGHT
    assert set(asked(server, office.world).values()) == {1}
    records = training.journals(root)[0]
    parents = {record.step: record.document_before for record in records}
    texts = {blob: _body(root, blob) for blob in parents.values()}
    right = [texts.get(parents.get(step + 1, "")) == system.strip() for step, system, _ in desk.ahead]
    assert any(right), "no guess was right"

    plain, alone, other = office.open("plain", speculate=False)
    await training.run(plain, alone.watcher)
    assert alone.ahead == alone.strange == []
    assert differences(story(plain), story(root)) == []
    # What was right was not asked again; what was wrong is all that there is more.
    early = {(system, user) for _, system, user in desk.ahead}
    assert asked(server, office.world).keys() == asked(other, office.world).keys() | early


def _body(root: Path, blob: str) -> str:
    text = training.repos.git(root, "cat-file", "blob", blob)
    return text.split("---\n", 2)[2].strip()


async def test_a_failing_call_ahead_is_met_again_by_its_step(office: Office) -> None:
    failed: set[str] = set()

    def otherwise(call: Call, ahead: bool) -> Answer | None:
        key = f"{call.system}{call.user}"
        if not ahead or key in failed:
            return None
        failed.add(key)
        return error(401, "not ahead of time")

    root, desk, server = office.open("failing", otherwise=otherwise)
    await training.run(root, desk.watcher)
    assert len(failed) >= 3
    again = [key for key, times in asked(server, office.world).items() if times == 2]
    assert again, "no call that failed ahead was needed"
    assert {f"{system}{user}" for system, user in again} <= failed
    plain, alone, _ = office.open("plain", speculate=False)
    await training.run(plain, alone.watcher)
    assert differences(story(plain), story(root)) == []


@contextlib.contextmanager
def nothing_left() -> Iterator[None]:
    """Inside, nothing is said to the loop's handler of what nobody awaits; afterwards no task is left."""
    loop, said, before = asyncio.get_running_loop(), list[dict[str, Any]](), asyncio.all_tasks()
    loop.set_exception_handler(lambda _, context: said.append(context))
    yield
    assert [task for task in asyncio.all_tasks() - before if not task.done()] == []
    assert said == []


async def test_stopping_now_waits_for_no_call_ahead(office: Office) -> None:
    """Ctrl-C twice cancels the training."""
    hanging = threading.Event()

    def otherwise(_: Call, ahead: bool) -> Answer | None:
        if not ahead:
            return None
        hanging.set()
        return Answer(fault="hang")

    root, desk, _ = office.open("now", otherwise=otherwise)
    with nothing_left():
        run = asyncio.create_task(training.run(root, desk.watcher))
        assert await asyncio.to_thread(hanging.wait, 20)
        began = time.monotonic()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert time.monotonic() - began < 3


async def test_a_run_that_fails_leaves_no_call_behind(office: Office) -> None:
    """The gate meets a refusal while attempts ahead are under way: they end, and are paid for once."""
    refuse = threading.Event()

    def otherwise(call: Call, ahead: bool) -> Answer | None:
        if ahead:
            refuse.set()
        gate = any(isinstance(event, StageStarted) and event.stage == "gate" for event in desk.watcher.events)
        return error(401, "the key was withdrawn") if gate and not ahead and refuse.is_set() else None

    root, desk, server = office.open(
        "fails", otherwise=otherwise, delay_s=lambda call: 0.1 if office.world.stage(call) == "train" else 0.01
    )
    with nothing_left(), pytest.raises(ModelRefusedError, match="withdrawn"):
        await training.run(root, desk.watcher)
    count = server.count
    await asyncio.sleep(0.1)
    assert server.count == count
    early = {(system, user) for _, system, user in desk.ahead}
    desk.otherwise = lambda _call, _ahead: None
    await training.run(root, desk.watcher)
    assert early
    assert {asked(server, office.world)[key] for key in early} == {1}
