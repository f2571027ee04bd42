"""One training of one trainer: its own process against a server process of its own, and what was measured of it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.trainers import peers
from benchmarks.trainers.faults import Faults
from benchmarks.trainers.world import SEED_DOCUMENT, SPLITS, World

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
NAMES = ("skillgit", "skillopt", "gepa")
METRIC_CALLS = 912
"""gepa's budget; it ends with the candidate that reaches it, so after 912 to 968 calls on the world of seed 1."""
CONFIG = """\
version: 1
models: {target: openai/sim-target, optimizer: openai/sim-optimizer}
skills:
  tickets:
    document: SKILL.md
    env: env
    train: {num_epochs: 3, batch_size: 16}
    gradient: {minibatch_size: 8}
    optimizer: {learning_rate: 4, lr_scheduler: SCHEDULER}
    merge: {into: main}
limits: {in_flight: 16}
"""
ENV = """\
version: 1
description: Tickets about machines, each kind of which has a code.
tasks: {train: train.jsonl, val: val.jsonl, test: test.jsonl}
system: "{skill}"
prompt: "{input}"
extract: answer_tag
scorer: exact
reveal: answer
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all trainings of a comparison share."""

    world_seed: int = 1
    topics: int = 16
    sizes: tuple[int, int, int] = (64, 48, 200)
    faults: Faults = field(default_factory=Faults)
    speed: float = 1.0
    limit_s: float = 600.0
    scheduler: str = "cosine"
    skillgit: Path = ROOT
    settings: tuple[str, ...] = ()
    peers: Path | None = None
    keep: Path | None = None

    @property
    def world(self) -> World:
        return World(self.world_seed, self.topics, self.sizes)


@dataclass(frozen=True, slots=True)
class Row:
    """One training.

    Seconds are wall-clock: `wall_s` from the process's start to its end or its first test task, `api_s` from its first
    request to the last answer before that. `best_val` is what the trainer says; the rest is by the independent
    evaluator, without and with the server's noise. `memory_mib` is the peak of the trainer's own process, `cpu_s` has
    its children's too. `said_calls` and `decisions` are what skillgit's log says, `load` is the
    machine's over the last minute. `ended` is `ok` or why not.
    """

    trainer: str
    seed: int
    wall_s: float
    api_s: float
    target_calls: int
    optimizer_calls: int
    tokens_in: int
    best_val: float
    val_noisy: float
    test: float
    test_noisy: float
    memory_mib: float
    cpu_s: float
    ended: str
    document_tokens: int
    said_calls: int | None
    decisions: Mapping[str, int]
    load: float
    counts: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Plain values; a score that there is none of is null."""
        found = asdict(self)
        return {**found, "best_val": None if math.isnan(self.best_val) else self.best_val}


@dataclass(frozen=True, slots=True)
class Finished:
    """A process that ended; times are of the system's monotonic clock."""

    code: int | None
    began: float
    ended: float
    memory_mib: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Trained:
    """What a trainer left: its best document with the val score that it claims, and, of skillgit, the calls that its
    journal counts and how many steps were decided how."""

    process: Finished
    best_val: float
    document: str
    said_calls: int | None = None
    decisions: Mapping[str, int] = field(default_factory=dict)


@contextlib.contextmanager
def server(setting: Setting, seed: int) -> Iterator[str]:
    """A fresh server; yields its URL."""
    options = [f"--seed={seed}", f"--world-seed={setting.world_seed}", f"--topics={setting.topics}"]
    options += [f"--sizes={','.join(map(str, setting.sizes))}", f"--speed={setting.speed}", *setting.faults.options]
    command = [sys.executable, "-m", "benchmarks.trainers.server", *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def counts(url: str) -> dict[str, Any]:
    """What the server counted."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # never by a proxy
    with opener.open(f"{url}/counts", timeout=10) as response:
        found: dict[str, Any] = json.load(response)
    return found


def watched(command: list[str], cwd: Path, environment: Mapping[str, str], log: Path, limit_s: float) -> Finished:
    """Run a process to its end, or to the limit, and watch its peak memory.

    The kernel's mark (VmHWM) only rises, so the last look before the end is the peak but for a twentieth of a second.
    """
    began, peak, over = time.monotonic(), 0.0, False
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=cwd, env=dict(environment), stdout=out, stderr=subprocess.STDOUT)
    status = Path(f"/proc/{process.pid}/status")
    try:
        while not (found := os.wait4(process.pid, os.WNOHANG))[0]:
            with contextlib.suppress(OSError):
                mark = re.search(r"VmHWM:\s+(\d+)", status.read_text(encoding="ascii", errors="replace"))
                peak = max(peak, int(mark[1]) / 1024) if mark else peak
            over = over or time.monotonic() - began > limit_s
            if over:
                process.kill()
            time.sleep(0.05)
    except BaseException:
        process.kill()
        raise
    _, code, usage = found
    process.returncode = os.waitstatus_to_exitcode(code)
    return Finished(
        None if over else process.returncode, began, time.monotonic(), peak, usage.ru_utime + usage.ru_stime
    )


def clean_environment(url: str) -> dict[str, str]:
    """Ours, less anything that could lead a client elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not re.match(r"OPENAI_|ANTHROPIC_|AZURE_|GIT_", name)}
    names = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _IDENTITY.items()}
    here = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "none", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    return {**kept, **names, **here, "PYTHONUNBUFFERED": "1"}


_IDENTITY = {"NAME": "bench", "EMAIL": "bench@example.invalid"}


def train_skillgit(setting: Setting, folder: Path, url: str) -> Trained:
    """`skillgit train` in a fresh repository; the best document from its ref."""
    repository = folder / "repository"
    (repository / "env").mkdir(parents=True)
    (repository / "SKILL.md").write_text(SEED_DOCUMENT, encoding="utf-8")
    (repository / "skillgit.yaml").write_text(CONFIG.replace("SCHEDULER", setting.scheduler), encoding="utf-8")
    (repository / "env" / "env.yaml").write_text(ENV, encoding="utf-8")
    for split in SPLITS:
        rows = [{"id": t.id, "input": t.input, "answer": t.answer} for t in setting.world.tasks[split]]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (repository / "env" / f"{split}.jsonl").write_text(text, encoding="utf-8")
    environment = {**clean_environment(url), "PYTHONPATH": str(setting.skillgit)}
    environment["XDG_CACHE_HOME"] = str(folder / "cache")

    def git(*words: str) -> str:
        command = ["git", *words]
        return subprocess.run(
            command, cwd=repository, env=environment, check=True, capture_output=True, text=True
        ).stdout

    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "start")):
        git(*words)
    extra = [word for pair in setting.settings for word in ("--set", pair)]
    command = [sys.executable, "-m", "skillgit", "train", "tickets", *extra]
    done = watched(command, repository, environment, folder / "log.txt", setting.limit_s)
    best = "refs/skillgit/best/tickets"
    if not git("for-each-ref", best):
        return Trained(done, float("nan"), SEED_DOCUMENT)

    def told(verb: str) -> list[dict[str, Any]]:
        words = [sys.executable, "-m", "skillgit", verb, "tickets", "--json"]
        shown = subprocess.run(words, cwd=repository, env=environment, check=True, capture_output=True, text=True)
        rows: list[dict[str, Any]] = json.loads(shown.stdout)
        return rows

    score = told("status")[0]["best_score"]
    steps = told("log")
    return Trained(
        done,
        float("nan") if score is None else float(score),
        git("cat-file", "-p", f"{best}:SKILL.md"),
        sum(step["cost"]["calls"] or 0 for step in steps),
        dict(Counter(step["decision"] for step in steps)),
    )


def train_peer(setting: Setting, folder: Path, url: str, name: str) -> Trained:
    """SkillOpt or gepa by its runner, in the peers' environment."""
    tasks = {split: [asdict(task) for task in setting.world.tasks[split]] for split in SPLITS}
    job = {"url": url, "document": SEED_DOCUMENT, "splits": tasks, "in_flight": 16}
    job |= {"scheduler": setting.scheduler, "metric_calls": METRIC_CALLS}
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    python = peers.python(setting.peers or peers.default_folder())
    command = [str(python), str(HERE / f"run_{name}.py"), str(folder)]
    done = watched(command, folder, clean_environment(url), folder / "log.txt", setting.limit_s)
    if not (folder / "result.json").is_file():
        return Trained(done, float("nan"), SEED_DOCUMENT)
    best_val = json.loads((folder / "result.json").read_text(encoding="utf-8"))["best_val"]
    return Trained(done, float(best_val), (folder / "best.md").read_text(encoding="utf-8"))


def measure(name: str, seed: int, setting: Setting) -> Row:
    """Train once and evaluate what came of it."""
    run: Callable[[Path, str], Trained] = (
        (lambda folder, url: train_skillgit(setting, folder, url))
        if name == "skillgit"
        else (lambda folder, url: train_peer(setting, folder, url, name))
    )
    if setting.keep is not None:
        folder = setting.keep / f"{name}-{seed}"
        folder.mkdir(parents=True)
        return _row(name, seed, setting, folder, run)
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as temporary:
        return _row(name, seed, setting, Path(temporary), run)


def _row(name: str, seed: int, setting: Setting, folder: Path, run: Callable[[Path, str], Trained]) -> Row:
    with server(setting, seed) as url:
        trained = run(folder, url)
        found = counts(url)
    done, document = trained.process, trained.document
    ended = "ok" if done.code == 0 else "over the limit" if done.code is None else f"exit {done.code}"
    if ended != "ok":
        tail = (folder / "log.txt").read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        ended = ": ".join([ended, *tail])[:200]
    end = found["test_at"] or done.ended
    world = setting.world
    return Row(
        trainer=name,
        seed=seed,
        wall_s=round(end - done.began, 2),
        api_s=round((found["last_at"] or 0.0) - (found["first_at"] or 0.0), 2),
        target_calls=found["target_calls"],
        optimizer_calls=found["optimizer_calls"],
        tokens_in=found["tokens_in"],
        best_val=round(trained.best_val, 4),
        val_noisy=round(world.score(document, "val", seed), 4),
        test=world.score(document, "test"),
        test_noisy=world.score(document, "test", seed),
        memory_mib=round(done.memory_mib, 1),
        cpu_s=round(done.cpu_s, 2),
        ended=ended,
        document_tokens=len(document) // 4,
        said_calls=trained.said_calls,
        decisions=trained.decisions,
        load=round(os.getloadavg()[0], 1),
        counts=found,
    )
