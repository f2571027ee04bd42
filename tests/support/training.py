"""Repositories with a small world to train in, sessions against a loopback server, and models that follow a script."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import repos
from support.server import Answer, Call, Responder, Server, serve
from support.world import SEED_DOCUMENT, Kinds, TopicWorld

from skillgit.models.base import Json, Reply, Request, Usage
from skillgit.store.locks import SkillLock
from skillgit.store.repository import Repository
from skillgit.train.archive.history import records, runs
from skillgit.train.archive.journal import Journal, StepRecord
from skillgit.train.archive.layout import read_journal
from skillgit.train.events import Event, Note, StepFinished
from skillgit.train.loop import Outcome, train
from skillgit.train.project import Project
from skillgit.train.session import Session
from skillgit.train.spend.stopping import Interrupts

MIXED_SEED = 4
SKILL = "topics"
DOCUMENT = "skills/topics/SKILL.md"
BEST = "skills/topics/best_skill.md"
BRANCH = "refs/heads/skill/topics"
BEST_REF = "refs/skillgit/best/topics"
PLAIN: dict[str, dict[str, Any]] = {
    "train": {"speculate": False},
    "gradient": {"success_minibatches": 0},
    "optimizer": {"use_slow_update": False, "use_meta_skill": False},
}
"""What a configuration for tests begins with."""
RETRY_DELAYS = (
    "openai._base_client.INITIAL_RETRY_DELAY",
    "anthropic._base_client.INITIAL_RETRY_DELAY",
    "skillgit.models.steady.FIRST_DELAY_S",
)


class SteadyWorld(TopicWorld):
    """What the optimizer proposes depends on the failures and on how many rejected edits it is shown, not on the
    wording of the prompt: so decisions stay the same when a prompt is written better."""

    def _line(self, prompt: str, topic: str) -> str:
        shown = [*self.failing(prompt), str(prompt.count("<rejected_edit>"))]
        return super()._line("/".join(shown), topic)


def mixed() -> SteadyWorld:
    """With batches of 8 over 2 epochs: acceptances and rejections."""
    return SteadyWorld(8, MIXED_SEED, kinds=Kinds(40, 40))


class MemoryCache:
    """A call cache that shows what it holds."""

    def __init__(self) -> None:
        self.entries: dict[str, Any] = {}
        self.kinds: dict[str, str] = {}

    def get(self, key: str) -> Any:
        return json.loads(self.entries[key]) if key in self.entries else None

    def put(self, key: str, value: Any, kind: str) -> None:
        self.entries[key] = json.dumps(value)
        self.kinds[key] = kind


class ScriptedModel:
    """A model whose replies a function makes; it may raise. Remembers requests and the most calls at once."""

    def __init__(
        self,
        answer: Callable[[Request], str | Reply],
        *,
        name: str = "fake/model",
        in_flight: int = 4,
        settings: Mapping[str, Json] | None = None,
    ) -> None:
        self._answer = answer
        self.name = name
        self.in_flight = in_flight
        self.settings: Mapping[str, Json] = settings or {}
        self.requests: list[Request] = []
        self.busy = self.most_busy = 0

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        try:
            await asyncio.sleep(0)
            reply = self._answer(request)
        finally:
            self.busy -= 1
        return reply if isinstance(reply, Reply) else Reply(reply, Usage(1, 10, 0, 2))

    async def close(self) -> None:
        """Nothing to give back."""


def configuration(*, limits: str = "{in_flight: 8}", into: str | None = "main", **sections: str) -> str:
    """A skillgit.yaml with one skill; sections are YAML flow mappings: `train="{num_epochs: 1}"`.

    What looks back or ahead is off unless a test asks for it, so that calls can be counted."""
    chosen = {"train": "{num_epochs: 2, batch_size: 8}", "evaluation": "{}", **sections}
    for section, keys in PLAIN.items():
        merged = {**keys, **yaml.safe_load(chosen.get(section, "{}"))}
        chosen[section] = yaml.safe_dump(merged, default_flow_style=True, width=1000).strip()
    if into is not None:
        chosen["merge"] = f"{{into: {into}}}"
    lines = "".join(f"    {section}: {value}\n" for section, value in chosen.items())
    return (
        "version: 1\nmodels: {target: openai/sim, optimizer: anthropic/sim}\n"
        f"limits: {limits}\nskills:\n  {SKILL}:\n    document: {DOCUMENT}\n    env: envs/topics\n{lines}"
    )


def make(root: Path, world: TopicWorld, *, config: str | None = None, document: str = SEED_DOCUMENT) -> Path:
    """A repository with the world's environment, a document and a skillgit.yaml, all committed on main."""
    repos.make_repo(root)
    world.write_env(root / "envs/topics")
    files = {DOCUMENT: document, "skillgit.yaml": config or configuration()}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    repos.git(root, "add", "-A")
    repos.git(root, "commit", "-q", "-m", "Start")
    return root


@dataclass
class Watcher:
    """A listener that remembers."""

    events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    @property
    def notes(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Note)]

    @property
    def decisions(self) -> list[str]:
        return [event.decision for event in self.events if isinstance(event, StepFinished)]


@contextlib.asynccontextmanager
async def session(
    start: Path,
    watcher: Watcher | None = None,
    *,
    overrides: Sequence[str] = (),
    optimizer: bool = True,
    target: str | None = None,
) -> AsyncIterator[Session]:
    """The skill, opened as the command line does it; overrides are `section.key=value`."""
    chosen = [(SKILL, *override.split("=", 1)) for override in overrides]
    project = Project.open(start, [(skill, key, value) for skill, key, value in chosen])
    try:
        opened = project.session(SKILL, watcher or Watcher(), optimizer=optimizer, target=target, say=lambda _: None)
        try:
            yield opened
        finally:
            await opened.close()
    finally:
        project.repo.close()
        project.close()


async def run(
    start: Path,
    watcher: Watcher | None = None,
    *,
    fresh: bool = False,
    overrides: Sequence[str] = (),
    entries: int | None = None,
) -> Outcome:
    """What `skillgit train topics` does; with `entries` Ctrl-C comes behind that many entries after the baseline."""
    async with session(start, watcher, overrides=overrides) as opened:
        with SkillLock.acquire(opened.repo, SKILL) as lock:
            return await train(opened, lock, fresh=fresh, stop=None if entries is None else _After(entries))


class _After(Interrupts):
    """Asks for the end behind some entries of the journal."""

    def __init__(self, entries: int) -> None:
        super().__init__(lambda _: None)
        self._left = entries

    def check(self) -> None:
        self._left -= 1
        self.asked = self._left < 0
        super().check()


def point_at(patch: pytest.MonkeyPatch, environment: Mapping[str, str]) -> None:
    """Point the SDKs of this process at a server, without the pauses between their retries."""
    for name, value in environment.items():
        patch.setenv(name, value)
    for name in RETRY_DELAYS:
        patch.setattr(name, 0.001)


class Yard:
    """A repository to train in, with the server that answers."""

    def __init__(self, root: Path, world: TopicWorld, server: Server) -> None:
        self.root, self.world, self.server = root, world, server
        self.watcher = Watcher()

    async def train(
        self, *overrides: str, fresh: bool = False, start: Path | None = None, entries: int | None = None
    ) -> Outcome:
        """Train with a new watcher; overrides are `section.key=value`."""
        self.watcher = Watcher()
        return await run(start or self.root, self.watcher, fresh=fresh, overrides=overrides, entries=entries)

    def git(self, *args: str, input: str | None = None) -> str:
        """Run git in the repository."""
        return repos.git(self.root, *args, input=input)

    def refs(self, prefix: str = "refs/") -> dict[str, str]:
        """Whole names and what they point to."""
        return repos.refs(self.root, prefix)

    def text(self, rev: str = BRANCH, path: str = DOCUMENT) -> str:
        """A file of a revision."""
        return text_at(self.root, rev, path)

    def commit_on(self, branch: str, files: Mapping[str, str | None], message: str = "By hand") -> str:
        """A person's commit on a branch that need not be checked out; None removes a file."""
        index = {"GIT_INDEX_FILE": str(self.root / "person.index")}
        tip = self.git("rev-parse", "--verify", branch)
        repos.git(self.root, "read-tree", tip, env=index)
        for path, content in files.items():
            if content is None:
                repos.git(self.root, "update-index", "--force-remove", path, env=index)
                continue
            blob = repos.git(self.root, "hash-object", "-w", "--stdin", input=content)
            repos.git(self.root, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", env=index)
        tree = repos.git(self.root, "write-tree", env=index)
        (self.root / "person.index").unlink()
        commit = self.git("commit-tree", tree, "-p", tip, "-m", message)
        self.git("update-ref", branch if branch.startswith("refs/") else f"refs/heads/{branch}", commit)
        return commit

    @property
    def steps(self) -> list[StepRecord]:
        """The newest run's steps, oldest first."""
        return journals(self.root)[-1]


def journals(root: Path) -> list[list[StepRecord]]:
    """The steps of every run, oldest first."""
    repo = Repository.open(root)
    try:
        return [records(repo, tip) for _, tip in runs(repo, SKILL)]
    finally:
        repo.close()


def journal(root: Path) -> Journal:
    """The newest run's last journal commit."""
    repo = Repository.open(root)
    try:
        return read_journal(repo, runs(repo, SKILL)[-1][1])
    finally:
        repo.close()


@contextlib.contextmanager
def trained_once(root: Path, world: TopicWorld, *runs: Sequence[str], **more: Any) -> Iterator[Yard]:
    """A yard for a whole module: made and trained (once for each of `runs`, its overrides) outside of any test."""
    with pytest.MonkeyPatch.context() as patch:
        repos.plain_environment(patch)
        with yard(root, patch, world, **more) as made:
            for overrides in runs:
                asyncio.run(made.train(*overrides))
            yield made


@contextlib.contextmanager
def trained_apart(root: Path, world: TopicWorld, *runs: Sequence[str], **more: Any) -> Iterator[Yard]:
    """As `trained_once`, for a whole session: the environment is changed for the training alone, since tests of other
    rooms run before the yard is given up."""
    with serve(world) as server:
        with pytest.MonkeyPatch.context() as patch:
            repos.plain_environment(patch)
            point_at(patch, server.env())
            made = Yard(make(root, world, **more), world, server)
            for overrides in runs:
                asyncio.run(made.train(*overrides))
        yield made


def copied(made: Yard, root: Path, patch: pytest.MonkeyPatch) -> Yard:
    """A copy of a yard's repository, with the same server."""
    point_at(patch, made.server.env())
    shutil.copytree(made.root, root, symlinks=True)
    return Yard(root, made.world, made.server)


class Meddler:
    """A responder with a person about, who does something in the repository as a call arrives, once."""

    def __init__(self, inner: TopicWorld, moment: Callable[[Call], bool]) -> None:
        self._inner, self._moment = inner, moment
        self._lock = threading.Lock()
        self.act: Callable[[], object] | None = None

    def __call__(self, call: Call) -> Answer:
        act = None
        if self._moment(call):
            with self._lock:  # calls arrive at once
                act, self.act = self.act, None
        if act is not None:
            act()
        return self._inner(call)


@contextlib.contextmanager
def yard(
    root: Path,
    patch: pytest.MonkeyPatch,
    world: TopicWorld,
    *,
    responder: Responder | None = None,
    config: str | None = None,
    document: str = SEED_DOCUMENT,
) -> Iterator[Yard]:
    """A yard whose server answers as the world does, or as `responder` does."""
    make(root, world, config=config, document=document)
    with serve(responder or world) as server:
        point_at(patch, server.env())
        yield Yard(root, world, server)


def is_reflection(call: Call) -> bool:
    """Whether a call is the optimizer's."""
    return any("<attempt" in text or "<edit " in text for _, text in call.turns)


def text_at(root: Path, rev: str, path: str = DOCUMENT) -> str:
    """A file of a revision, byte for byte."""
    return repos.git(root, "cat-file", "blob", f"{rev}:{path}") + "\n"


def trailer(root: Path, rev: str, key: str) -> str:
    """The value of one trailer, as plain `git log` shows it."""
    return repos.git(root, "log", "-1", f"--format=%(trailers:key={key},valueonly,separator=%x2C)", rev)
