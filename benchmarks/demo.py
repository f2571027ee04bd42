#!/usr/bin/env python3
"""The demo on fresh splits: what training adds, what it costs, and what doing without it gives.

Usage: python benchmarks/demo.py [--splits N] [--skill opscli|houseformat] [--seed S ...] [--no-baselines] [--json]

Each split is made by the environment's generator with a seed drawn at run time (or given with --seed). Per split, in
one process each:

- the whole demo, `skillgit demo` as a person runs it: test before and after, val, edits, seconds of wall-clock;
- `pasted`: the seed document with all train tasks pasted in as examples, untrained;
- `failed tasks`: the same loop and gate, but the proposals are the failed train tasks with their answers as they are,
  without an optimizer model.

Tokens are the target's prompt tokens per test task: what each call costs from then on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillgit.config import GradientSettings
from skillgit.document.structure import body
from skillgit.models.base import Json, Model, Reply, Request
from skillgit.store.locks import SkillLock
from skillgit.train import demo
from skillgit.train.archive import documents
from skillgit.train.loop import train
from skillgit.train.project import Project
from skillgit.train.propose.compact import example_line
from skillgit.train.scoring.evaluate import evaluate_document
from skillgit.train.session import Session
from skillgit.train.start import base_of

MODEL = "local/qwen2.5-coder-0.5b"
_ATTEMPT = re.compile(r"<attempt[^>]*>.*?<input>(.*?)</input>.*?<expected>(.*?)</expected>", re.DOTALL)


class FailedTasks:
    """Stands where the optimizer is, and proposes the failed tasks with their answers."""

    name = "none/failed-tasks"
    settings: Mapping[str, Json] = {}
    in_flight = 1

    async def complete(self, request: Request) -> Reply:
        """One appended line per failed task of the last turn."""
        edits = [
            {"op": "append", "content": f"- {task} -> {answer}"}
            for task, answer in _ATTEMPT.findall(request.turns[-1].text)
        ]
        return Reply(json.dumps({"reasoning": "", "edits": edits}))

    async def close(self) -> None:
        """Nothing to give back."""


def whole_demo(skill: str, seed: int, folder: Path) -> dict[str, Any]:
    """`skillgit demo` in a process of its own; its scores are read from what it left in git."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "skillgit", "demo", str(folder), "--skill", skill, "--split-seed", str(seed)]
    done = subprocess.run([*command, "--yes"], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(f"the demo failed:\n{done.stdout}\n{done.stderr}")
    scores = {
        key: (float(a), float(b))
        for key, a, b in re.findall(r"^(val|test)\s+([\d.]+)% -> ([\d.]+)%", done.stdout, re.M)
    }
    return {"seconds": seconds, "val": scores["val"], "test": scores["test"]}


async def measured(session: Session, text: str) -> dict[str, float]:
    """Test accuracy of a document in percent, and its prompt tokens per task."""
    blob = session.repo.objects.write_blob(text.encode())
    found = await evaluate_document(session, documents.Placed(text, blob, 0o100644), blob, "test")
    return {"test": float(found.hard) * 100, "tokens": await prompt_tokens(session, text)}


async def prompt_tokens(session: Session, text: str, tasks: int = 5) -> float:
    """Mean prompt tokens of a few test tasks, as the runtime counts them."""
    used = []

    async def ask(request: Request) -> Reply:
        reply = await session.target.complete(request)
        used.append(reply.usage.input_tokens)
        return reply

    for task in session.environment.tasks("test")[:tasks]:
        await session.environment.attempt(body(text), task, ask)
    return sum(used) / len(used)


async def baselines(skill: str, seed: int, folder: Path, trained: str) -> dict[str, Any]:
    """Pasted examples, failed tasks without a model, and the trained document's tokens, on one split."""
    demo.create(folder, model=MODEL, split_seed=seed, skill=skill)
    project = Project.open(folder)
    session = project.session(skill, lambda _: None, optimizer=False, yes=True, say=print)
    try:
        document = documents.read(session.repo, base_of(session.repo, session.settings), session.settings.document)
        lines = (example_line(task.input, task.answers[0]) for task in session.environment.tasks("train"))
        pasted = document.text.rstrip("\n") + "\n\n" + "\n".join(lines) + "\n"
        found: dict[str, Any] = {"pasted": await measured(session, pasted)}
        found["trained"] = {"tokens": await prompt_tokens(session, trained)}
        optimizer: Model = FailedTasks()
        session.optimizer = optimizer
        session.settings = session.settings.model_copy(update={"gradient": GradientSettings(prompts="compact")})
        begin = time.perf_counter()
        with SkillLock.acquire(session.repo, skill) as lock:
            outcome = await train(session, lock)
        seconds = time.perf_counter() - begin
        best = documents.read(session.repo, outcome.best_commit, session.settings.document)
        found["failed_tasks"] = {**await measured(session, best.text), "seconds": seconds}
    finally:
        await session.close()
        project.close()
    return found


def one_split(skill: str, seed: int, *, with_baselines: bool) -> dict[str, Any]:
    """Everything on one split."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "demo"
        found: dict[str, Any] = {"split_seed": seed, "demo": whole_demo(skill, seed, folder)}
        show = ["git", "-C", str(folder), "show", f"refs/skillgit/best/{skill}:skills/{skill}/SKILL.md"]
        trained = subprocess.run(show, capture_output=True, text=True, check=True).stdout
        found["lines"] = len(trained.splitlines())
        if with_baselines:
            found["baselines"] = asyncio.run(baselines(skill, seed, Path(scratch) / "baselines", trained))
    return found


def row(found: dict[str, Any]) -> str:
    """One line of the Markdown table."""
    ran = found["demo"]
    before, after = ran["test"]
    cells = [str(found["split_seed"]), f"{before:.1f}", f"{after:.1f}", f"{after - before:+.1f}"]
    cells += [f"{ran['val'][0]:.1f} → {ran['val'][1]:.1f}", f"{ran['seconds']:.0f}"]
    if "baselines" in found:
        base = found["baselines"]
        cells += [f"{base['trained']['tokens']:.0f}"]
        for key in ("pasted", "failed_tasks"):
            cells += [f"{base[key]['test']:.1f}", f"{base[key]['tokens']:.0f}"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--skill", choices=["opscli", "houseformat"], default="opscli")
    parser.add_argument("--seed", type=int, action="append", help="a split's seed instead of a drawn one")
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    seeds = given.seed or [secrets.randbelow(10**9) for _ in range(given.splits)]
    head = ["split seed", "test before %", "test after %", "points", "val %", "seconds"]
    if not given.no_baselines:
        head += ["tokens", "pasted: test %", "tokens", "failed tasks: test %", "tokens"]
    if not given.json:
        print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
    everything = []
    for seed in seeds:
        found = one_split(given.skill, seed, with_baselines=not given.no_baselines)
        everything.append(found)
        if not given.json:
            print(row(found), flush=True)
    if given.json:
        print(json.dumps(everything, indent=2))


if __name__ == "__main__":
    main()
