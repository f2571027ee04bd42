"""A training that is killed again and again ends as one that was left alone, and asks for nothing twice.

The server lives in this process, the trainer is `python -m skillgit train`, killed with its whole process group
(SIGKILL): as a call of each stage arrives, at seeded moments, and inside the ref transaction, where a hook makes the
state that git leaves behind when it dies there.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from support import repos, training
from support.epochs import EpochWorld, prompt_of
from support.histories import differences, story
from support.server import Answer, Call, Responder, Server, serve
from support.training import BEST, BEST_REF, BRANCH, DOCUMENT, SKILL
from support.world import Kinds, TopicWorld

IN_FLIGHT = 4
MARK = re.compile(r"call-[0-9a-f]{64}")


def config(*, wide: bool = False, rivals: bool = False) -> str:
    """With slow update and meta memory; with `rivals`, several candidates and several parents. What a race leaves under
    way and what is guessed differ from run to run: only without them (not `wide`) does every run make the same calls.
    """
    flag = str(wide).lower()
    parent, proposals = ("pareto", 2) if rivals else ("tip", 1)
    return training.configuration(
        limits=f"{{in_flight: {IN_FLIGHT}}}",
        train=f"{{num_epochs: 3, batch_size: 8, speculate: {flag}, parent: {parent}}}",
        gradient="{minibatch_size: 3, success_minibatches: 1}",
        optimizer=f"{{use_slow_update: true, use_meta_skill: true, slow_update_samples: 10, proposals: {proposals}}}",
        evaluation=f"{{racing: {flag}}}",
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
        mark: as this very call arrives, instead.
    """

    when: Literal["call", "soon", "start", "prepared", "committed"]
    number: int = 0
    after: int = 0
    mark: str = ""


class MarkedWorld(EpochWorld):
    """Every reply carries the digest of its request, so that the call cache shows which calls it holds."""

    def __call__(self, call: Call) -> Answer:
        mark = mark_of(call)
        answer = super().__call__(call)
        stage = self.stage(call)
        if stage in ("train", "val"):
            return Answer(f"({mark}) {answer.text}", delay_s=0.002)
        # Guidance and notes are asked for at once: neither is answered before the other one has arrived.
        delay_s = 0.3 if stage in ("slow_update", "meta_memory") else 0.002
        return Answer(json.dumps({**json.loads(answer.text), "mark": mark}), delay_s=delay_s)


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
            mark, kill = mark_of(call), self._kill
            self._seen.add(mark)
            if kill is not None and kill.when != "start" and self._is_due(kill, mark):
                self._kill = None
                self._execute(kill)
        return self._responder(call)

    def _is_due(self, kill: Kill, mark: str) -> bool:
        return mark == kill.mark if kill.mark else len(self._seen) >= kill.after

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
                elif kill is not None and kill.when in ("prepared", "committed") and self._is_due(kill, ""):
                    self._kill = None
                    self._execute(kill)
            code = process.wait(120)
            said.seek(0)
            return Ended(code, said.read(), key)


def prepare(root: Path, world: TopicWorld, **chosen: bool) -> Path:
    training.make(root, world, config=config(**chosen))
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
    each = [record for step in steps for record in (asdict(step), *step.others) if record["decision"] == "reject"]
    each.sort(key=lambda record: (record["step"], record["candidate"]))
    assert list(rejected.values()) == [record["commits"][-1] for record in each]
    moved = {ref: new for step in steps for ref, _, new in step.refs}
    assert {ref: refs.get(str(ref)) for ref in moved} == moved


Plan = Callable[[Sequence[Call]], list[Kill]]
"""Of the calls of the run that is left alone, in their order."""


def scattered(seed: int, kills: int) -> Plan:
    """Seeded moments, spread over the run; a fourth of them in the ref transaction: each takes one of the run's few."""

    def plan(calls: Sequence[Call]) -> list[Kill]:
        chance = random.Random(seed)
        inside: list[tuple[Any, int]] = [("prepared", n) for n in (2, 0, 1, 3)] + [("committed", 0)]
        kinds = [inside[n % len(inside)] for n in range(kills // 4)]
        kinds += [("start", chance.randrange(100, 1200)) for _ in range(kills // 7)]
        kinds += [("soon", chance.randrange(1, 60)) for _ in range(kills // 3)]
        kinds += [("call", 0)] * (kills - len(kinds))
        chance.shuffle(kinds)
        # A kill must not fall into the last transaction: the run would be finished.
        moments = sorted(chance.sample(range(1, len(calls) * 8 // 10), kills))
        return [Kill(when, number, after) for (when, number), after in zip(kinds, moments, strict=True)]

    return plan


def stages(world: MarkedWorld, calls: Sequence[Call]) -> list[tuple[str, list[str]]]:
    """The run's stages in their order, each with the marks of its calls: what stands next to each other."""
    found: list[tuple[str, list[str]]] = []
    for call in calls:
        stage = {"train": "rollout", "val": "gate"}.get(world.stage(call), world.stage(call))
        stage = "closing" if stage in ("slow_update", "meta_memory") else stage
        stage = "baseline" if stage == "gate" and not found else stage
        if stage == "closing" and found[-1][0] == "rollout":
            found[-1] = ("compare", found[-1][1])
        if stage == "gate" and found[-1][0] in ("closing", "slow gate"):
            stage = "slow gate"
        if not found or (found[-1][0] != stage and (stage, found[-1][0]) != ("gate", "baseline")):
            found.append((stage, []))
        found[-1][1].append(mark_of(call))
    return found


def in_every_stage(world: MarkedWorld, *, all_of_them: bool = True) -> Plan:
    """As a call in the middle of each stage arrives, and in the transactions of a step and of a slow update.

    Args:
        all_of_them: the world has to have every stage.
    """

    def plan(calls: Sequence[Call]) -> list[Kill]:
        kinds = {mark_of(call): world.stage(call) for call in calls}
        kills: dict[str, Kill] = {}
        # After the last stage's transaction the run would be finished.
        for stage, marks in stages(world, calls)[:-1]:
            points = {stage: marks[len(marks) // 2]}
            if stage == "closing":
                points = {kinds[mark]: mark for mark in marks}
            for point, mark in points.items():
                if point not in kills:
                    kills[point] = Kill("call", mark=mark)
                    if point in ("gate", "slow gate"):
                        kills[f"the transaction after the {point}"] = Kill("prepared", 2, mark=marks[-1])
        assert not all_of_them or kills.keys() >= {
            *("baseline", "rollout", "reflect", "merge", "select", "gate", "the transaction after the gate"),
            *("compare", "slow_update", "slow gate", "the transaction after the slow gate", "meta_memory"),
        }
        return list(kills.values())

    return plan


def once(world: MarkedWorld, calls: Sequence[Call], rivals: bool) -> list[str]:
    """The marks of the calls that no run makes twice: two rivals may each ask the optimizer the same."""
    return [mark_of(call) for call in calls if not rivals or world.stage(call) in ("train", "val")]


def killed_run(root: Path, world: MarkedWorld, kills: Sequence[Kill], rivals: bool) -> Iterator[str]:
    """Kill and restart, and see that no recorded call is made again; yields what each start said."""
    trainer = Trainer(root, world)
    with serve(trainer) as server:
        for kill in [*kills, None]:
            known = recorded(root)
            ended = trainer.start(server, kill)
            assert ended.code == (0 if kill is None else -signal.SIGKILL), (kill, ended.said)
            # By their key: a call of the start before may arrive when that one is dead already.
            calls = [call for call in server.calls if call.headers["authorization"].endswith(ended.key)]
            asked = once(world, calls, rivals)
            assert known.isdisjoint(asked), "a call that was answered and recorded was made again"
            assert len(asked) == len(set(asked))
            # A firmer retry is kept together with the call that it repeats.
            lost = {(c.system, prompt_of(c)) for c in calls if mark_of(c) not in recorded(root)}
            assert len(lost) <= (0 if kill is None else IN_FLIGHT)
            repos.fsck(root)
            yield ended.said


def compare(
    tmp_path: Path, world: MarkedWorld, plan: Plan, *, wide: bool = False, rivals: bool = False
) -> dict[str, Any]:
    """A run that is left alone and one that is killed; gives the story that they have in common."""
    alone, torn = (prepare(tmp_path / name, world, wide=wide, rivals=rivals) for name in ("alone", "torn"))
    with serve(world) as server:
        ended = Trainer(alone, world).start(server)
        assert ended.code == 0, ended.said
        wanted = {mark_of(call) for call in server.calls}
        assert len(set(once(world, server.calls, rivals))) == len(once(world, server.calls, rivals))
        kills = plan(server.calls)
    said = list(killed_run(torn, world, kills, rivals))
    assert len(said) == len(kills) + 1
    assert any("was brought to" in text for text in said)
    assert any("removed the leftover lock file" in text for text in said)
    check_whole(alone)
    check_whole(torn)
    expected, found = story(alone), story(torn)
    assert differences(expected, found) == []
    assert found == expected
    if not wide:
        assert recorded(torn) == recorded(alone) == wanted
    return expected


def test_a_kill_in_every_stage(tmp_path: Path) -> None:
    world = MarkedWorld(8, 5, kinds=Kinds(45, 35))
    told = compare(tmp_path, world, in_every_stage(world))
    decisions = {step["decision"] for step in told["steps"]}
    assert {"baseline", "accept-best", "reject"} <= decisions
    assert {"step", "slow-update"} <= {step["kind"] for step in told["steps"]}
    assert sum(name.endswith("(message)") for name in told) == 3


def test_kills_at_any_moment(tmp_path: Path) -> None:
    """As a person's run is: racing, and rolled out ahead of time."""
    compare(tmp_path, MarkedWorld(8, 3, kinds=Kinds(45, 35)), scattered(1, 8), wide=True)


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
@pytest.mark.parametrize("rivals", [False, True], ids=["one", "rivals"])
@pytest.mark.parametrize("wide", [False, True], ids=["exact", "wide"])
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_kills(tmp_path: Path, seed: int, wide: bool, rivals: bool) -> None:
    world = MarkedWorld(12, seed, per_topic=(2, 2, 1), kinds=Kinds(40, 40))
    compare(tmp_path, world, scattered(seed, 24), wide=wide, rivals=rivals)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 7))
def test_a_kill_in_every_stage_of_many_worlds(tmp_path: Path, seed: int) -> None:
    world = MarkedWorld(10, seed, kinds=Kinds(40, 40))
    compare(tmp_path, world, in_every_stage(world, all_of_them=False))
