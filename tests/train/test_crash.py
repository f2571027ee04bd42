"""A training that is killed again and again ends as one that was left alone, and asks for nothing twice.

The server lives in this process, the trainer is `python -m skillgit train`, killed with its whole process group
(SIGKILL) at seeded moments: when the n-th call arrives, after some time, and inside the ref transaction, where a hook
makes the state that git leaves behind when it dies there.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from support import repos, training
from support.server import Answer, Call, Responder, Server, serve
from support.training import BEST, BEST_REF, BRANCH, DOCUMENT, SKILL, SteadyWorld
from support.world import Kinds, TopicWorld

from skillgit.train.journal import StepRecord

IN_FLIGHT = 4
MARK = re.compile(r"call-[0-9a-f]{64}")
CONFIG = training.configuration(
    limits=f"{{in_flight: {IN_FLIGHT}}}",
    train="{num_epochs: 3, batch_size: 4}",
    models="{target: openai/sim, optimizer: openai/sim}",
)

# In `prepared`, git holds a lock file with the new value for every ref and renames them one by one, in the order of its
# standard input. Renaming the first ones and dying is what a kill in the middle of that leaves.
HOOK = """#!/bin/sh
plan="$CRASH_PLAN"
[ -f "$plan" ] || exit 0
read -r state moved < "$plan"
[ "$1" = "$state" ] || exit 0
refs=$(cut -d' ' -f3)
case "$refs" in *refs/skillgit/runs/*|*refs/heads/main*) ;; *) exit 0 ;; esac
rm "$plan"
dir=$(git rev-parse --git-common-dir)
for ref in $refs; do
  [ "$moved" -gt 0 ] || break
  mv "$dir/$ref.lock" "$dir/$ref"
  moved=$((moved - 1))
done
kill -9 0
"""


class Ended(NamedTuple):
    """Exit code (negative: the signal), what was said on stderr, and the key that this start's calls carry."""

    code: int
    said: str
    key: str


@dataclass(frozen=True)
class Kill:
    """When the trainer dies.

    Args:
        when: as a call arrives; soon after one; after the start; in the next ref transaction, with all refs
            prepared or all committed.
        number: how many ms later (`soon`, `start`), or how many refs have moved (`prepared`).
        after: not before so many different calls have arrived, over all starts.
    """

    when: Literal["call", "soon", "start", "prepared", "committed"]
    number: int
    after: int


class MarkedWorld(SteadyWorld):
    """Every reply carries the digest of its request, so that the call cache shows which calls it holds."""

    def __call__(self, call: Call) -> Answer:
        mark = mark_of(call)
        answer = super().__call__(call)
        if training.is_reflection(call):
            return Answer(json.dumps({**json.loads(answer.text), "mark": mark}), delay_s=0.002)
        return Answer(f"({mark}) {answer.text}", delay_s=0.002)


def mark_of(call: Call) -> str:
    """Equal for equal requests."""
    return "call-" + hashlib.sha256(json.dumps(call.body, sort_keys=True).encode()).hexdigest()


class Trainer:
    """Starts `skillgit train` on one repository, as often as it takes."""

    def __init__(self, root: Path, responder: Responder) -> None:
        self.root = root
        self.plan = root.with_suffix(".plan")
        self._responder = responder
        self._lock = threading.Lock()
        self._seen: set[str] = set()
        self._kill: Kill | None = None
        self._group = 0
        self._starts = 0

    def __call__(self, call: Call) -> Answer:
        """Answer, and kill where this is the moment."""
        with self._lock:
            self._seen.add(mark_of(call))
            kill = self._kill
            if kill is not None and len(self._seen) >= kill.after and kill.when != "start":
                self._kill = None
                self._execute(kill)
        return self._responder(call)

    def _execute(self, kill: Kill) -> None:
        if kill.when in ("prepared", "committed"):
            self.plan.write_text(f"{kill.when} {kill.number}\n")
        elif kill.number:
            threading.Timer(kill.number / 1000, os.killpg, (self._group, signal.SIGKILL)).start()
        else:
            os.killpg(self._group, signal.SIGKILL)

    def start(self, server: Server, kill: Kill | None = None, command: Sequence[str] = ("train", SKILL)) -> Ended:
        """Run it to its end or to the kill."""
        self.plan.unlink(missing_ok=True)
        self._starts += 1
        key = f"loopback-key-{self._starts:03d}"
        with self.root.with_suffix(".err").open("w+", encoding="utf-8") as said:
            with self._lock:
                process = subprocess.Popen(
                    [sys.executable, "-m", "skillgit", *command],
                    cwd=self.root,
                    env={**os.environ, **server.env(), "OPENAI_API_KEY": key, "CRASH_PLAN": str(self.plan)},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    start_new_session=True,
                )
                self._kill, self._group = kill, process.pid
                if kill is not None and kill.when == "start":
                    self._execute(kill)
                elif kill is not None and kill.when in ("prepared", "committed") and len(self._seen) >= kill.after:
                    self._kill = None
                    self._execute(kill)
            code = process.wait(120)
            said.seek(0)
            return Ended(code, said.read(), key)


def prepare(root: Path, world: TopicWorld) -> Path:
    training.make(root, world, config=CONFIG)
    hook = root / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK)
    hook.chmod(0o755)
    return root


def recorded(root: Path) -> set[str]:
    """The calls whose answers are in the call cache."""
    path = root / ".git/skillgit/calls.sqlite3"
    if not path.exists():
        return set()
    with closing(sqlite3.connect(path)) as cache:
        if not cache.execute("SELECT 1 FROM sqlite_master WHERE name = 'calls'").fetchone():
            return set()
        return {mark for (value,) in cache.execute("SELECT value FROM calls") for mark in MARK.findall(value)}


def locks(root: Path) -> list[Path]:
    """Lock files of git that nobody holds any more."""
    return [p for p in (root / ".git").rglob("*.lock") if p.parent != root / ".git/skillgit/locks"]


def told(record: StepRecord) -> dict[str, Any]:
    """A step without run ids, commit ids, dates and costs."""
    left_out = ("commits", "refs", "cost")
    return {key: value for key, value in asdict(record).items() if key not in left_out}


def story(root: Path) -> dict[str, Any]:
    """All that has to be equal: steps, documents of every ref and commit, messages without what may differ."""
    (steps,) = training.journals(root)
    state = training.journal(root).state
    found: dict[str, Any] = {"steps": [told(record) for record in steps], "reason": state.reason}
    run = training.journal(root).info.run
    for ref in repos.refs(root):
        name = ref.replace(run, "RUN")
        if ref.startswith(("refs/skillgit/runs/", "refs/skillgit/evidence/")):
            # Evidence, step for step; the journal's own commits are compared by their records.
            trees = "%T" if "evidence" in ref else "%s"
            found[name] = repos.git(root, "log", "--first-parent", f"--format={trees}", ref).splitlines()
            continue
        commits = repos.git(root, "rev-list", "--first-parent", ref, "--not", "main").splitlines()
        found[name] = [(blob(root, commit), message(root, commit)) for commit in commits]
    return found


def blob(root: Path, commit: str) -> str:
    return repos.git(root, "rev-parse", f"{commit}:{DOCUMENT}")


def message(root: Path, commit: str) -> str:
    text = repos.git(root, "log", "-1", "--format=%B", commit)
    return re.sub(r"^(Skill-Run|Skill-Cost): .*$", r"\1", text, flags=re.MULTILINE)


def check_whole(root: Path) -> None:
    """Nothing is half moved, nothing is left lying about."""
    repos.fsck(root)
    assert locks(root) == []
    assert not (root / ".git/index.lock").exists()
    refs = repos.refs(root)
    (steps,), last = training.journals(root), training.journal(root)
    assert refs[BRANCH] == last.state.tip
    assert refs[BEST_REF] == last.state.best_commit
    rejected = {ref: oid for ref, oid in refs.items() if ref.startswith("refs/skillgit/rejected/")}
    assert list(rejected.values()) == [s.commits[-1] for s in steps if s.decision == "reject"]
    moved = {ref: new for step in steps for ref, _, new in step.refs}
    assert {ref: refs.get(str(ref)) for ref in moved} == moved


def plan_of(seed: int, kills: int, calls: int) -> list[Kill]:
    """Seeded moments, spread over the run; a third of them in the ref transaction.

    Args:
        calls: how many the whole run makes. A kill must not fall into its last transaction: it would be finished.
    """
    chance = random.Random(seed)
    inside = [("prepared", n) for n in (0, 1, 2, 3)] + [("committed", 0)]
    kinds: list[tuple[Any, int]] = [inside[n % len(inside)] for n in range(kills // 3)]
    kinds += [("start", chance.randrange(100, 1200)) for _ in range(kills // 7)]
    kinds += [("soon", chance.randrange(1, 60)) for _ in range(kills // 4)]
    kinds += [("call", 0)] * (kills - len(kinds))
    chance.shuffle(kinds)
    moments = sorted(chance.sample(range(1, calls * 8 // 10), kills))
    return [Kill(when, number, after) for (when, number), after in zip(kinds, moments, strict=True)]


def killed_run(root: Path, world: MarkedWorld, kills: Sequence[Kill]) -> Iterator[str]:
    """Kill and restart, and see that no recorded call is made again; yields what each start said."""
    trainer = Trainer(root, world)
    with serve(trainer) as server:
        for kill in [*kills, None]:
            known = recorded(root)
            ended = trainer.start(server, kill)
            assert ended.code == (0 if kill is None else -signal.SIGKILL), ended.said
            # By their key: a call of the start before may arrive when that one is dead already.
            asked = [mark_of(call) for call in server.calls if call.headers["authorization"].endswith(ended.key)]
            assert known.isdisjoint(asked), "a call that was answered and recorded was made again"
            assert len(asked) == len(set(asked))
            assert len(set(asked) - recorded(root)) <= (0 if kill is None else IN_FLIGHT)
            repos.fsck(root)
            yield ended.said


def compare(tmp_path: Path, world: MarkedWorld, seed: int, kills: int) -> None:
    alone, torn = prepare(tmp_path / "alone", world), prepare(tmp_path / "torn", world)
    with serve(world) as server:
        ended = Trainer(alone, world).start(server)
        assert ended.code == 0, ended.said
        wanted = {mark_of(call) for call in server.calls}
        assert len(wanted) == server.count
    said = list(killed_run(torn, world, plan_of(seed, kills, len(wanted))))
    assert len(said) == kills + 1
    assert any("was brought to" in text for text in said)
    assert any("removed the leftover lock file" in text for text in said)
    check_whole(alone)
    check_whole(torn)
    expected, found = story(alone), story(torn)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == value, key
    assert recorded(torn) == recorded(alone) == wanted
    decisions = [step["decision"] for step in expected["steps"]]
    assert {"baseline", "accept-best", "reject", "none"} <= set(decisions)
    assert len([name for name in expected if name.startswith("refs/tags/")]) >= 2


def test_twenty_kills(tmp_path: Path) -> None:
    compare(tmp_path, MarkedWorld(10, 4, kinds=Kinds(30, 45)), 1, 21)


def test_a_merge_that_is_killed_is_completed_by_the_next(tmp_path: Path) -> None:
    """The base is checked out: index and work tree have gone ahead of the branch, whose lock file is left."""
    world = MarkedWorld(2, 1, kinds=Kinds(100, 0))
    root = prepare(tmp_path / "repo", world)
    repos.commit(root, {"other.txt": "as it was\n"}, "Another file")
    trainer = Trainer(root, world)
    merge = ("merge", SKILL, "--into", "main")
    with serve(trainer) as server:
        assert trainer.start(server).code == 0
        base = repos.git(root, "rev-parse", "main")
        (root / "other.txt").write_text("changed meanwhile\n")
        for kill in (Kill("prepared", 0, 0), Kill("prepared", 0, 0), Kill("prepared", 1, 0)):
            assert trainer.start(server, kill, merge).code == -signal.SIGKILL
        ended = trainer.start(server, None, merge)
    assert ended.code == 0, ended.said
    assert repos.git(root, "rev-parse", "main^1") == base
    best = repos.git(root, "rev-parse", f"{BEST_REF}:{DOCUMENT}")
    for path in (DOCUMENT, BEST):
        assert repos.git(root, "rev-parse", f"main:{path}") == best
        assert repos.git(root, "hash-object", path) == best
    assert repos.git(root, "status", "--porcelain") == " M other.txt"
    assert (root / "other.txt").read_text() == "changed meanwhile\n"
    check_whole(root)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_kills(tmp_path: Path, seed: int) -> None:
    compare(tmp_path, MarkedWorld(16, seed, per_topic=(3, 2, 1), kinds=Kinds(30, 40)), seed, 45)
