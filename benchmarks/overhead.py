#!/usr/bin/env python3
"""Our own cost: start-up times, and CPU per rollout in a training against a loopback server that answers at once.

Usage: python benchmarks/overhead.py [--runs N] [--json]

Start-up is wall-clock, best and median of N, beside `python -c pass` in the same run (aim: `--help` 0.15 s).
CPU per rollout is what the trainer's process spent (user and system, its git children included) in two trainings that
differ in the number of rollouts only, and the slope between them; the server runs in a process of its own
(aim: 3 ms).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.world import SEED_DOCUMENT, TopicWorld

SERVER = ROOT / "tests" / "support" / "world_server.py"
CONFIG = """\
version: 1
models: {target: openai/sim, optimizer: openai/sim}
skills:
  tickets:
    document: SKILL.md
    env: env
    train: {num_epochs: 2, batch_size: 16}
    evaluation: {racing: false}
    merge: {into: main}
"""


def started(command: list[str], runs: int) -> dict[str, float]:
    """Seconds of wall-clock: best and median."""
    taken = []
    for _ in range(runs):
        begin = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - begin)
    return {"best_s": min(taken), "median_s": statistics.median(taken)}


def startup(runs: int) -> dict[str, dict[str, float]]:
    """Start-up of the program's common first calls."""
    program = [sys.executable, "-m", "skillgit"]
    return {
        "python -c pass": started([sys.executable, "-c", "pass"], runs),
        "skillgit --help": started([*program, "--help"], runs),
        "skillgit --version": started([*program, "--version"], runs),
        "skillgit train --help": started([*program, "train", "--help"], runs),
    }


def trained(val_per_topic: int) -> dict[str, float]:
    """One training; returns its rollouts and the CPU seconds of the trainer and its children."""
    world = TopicWorld(16, 5, per_topic=(2, val_per_topic, 1))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        world.write_env(root / "env")
        (root / "SKILL.md").write_text(SEED_DOCUMENT, encoding="utf-8")
        (root / "skillgit.yaml").write_text(CONFIG, encoding="utf-8")
        identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"]
        for command in (["init", "-q", "-b", "main"], ["add", "-A"], [*identity, "commit", "-q", "-m", "start"]):
            subprocess.run(["git", *command], cwd=root, check=True)
        log = root / "calls.jsonl"
        # The wordings limit how many tasks a topic has, so the server gets the same world by its own arguments.
        server = subprocess.Popen(
            [sys.executable, str(SERVER), "--seed", "5", "--topics", "16", "--log", str(log)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            names = {"GIT_AUTHOR_NAME": "bench", "GIT_AUTHOR_EMAIL": "bench@example.invalid"}
            names |= {key.replace("AUTHOR", "COMMITTER"): value for key, value in names.items()}
            environment = {**os.environ, **names, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "none"}
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                [sys.executable, "-m", "skillgit", "train", "tickets"],
                cwd=root,
                check=True,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        finally:
            server.terminate()
            server.wait()
        rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    spent = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return {"rollouts": sum(row["role"] == "target" for row in rows), "cpu_s": spent}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="starts per command")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    few, many = trained(1), trained(7)
    slope = (many["cpu_s"] - few["cpu_s"]) / (many["rollouts"] - few["rollouts"])
    found: dict[str, Any] = {
        "startup": startup(given.runs),
        "training": {"few": few, "many": many, "cpu_ms_per_rollout": slope * 1000},
    }
    if given.json:
        print(json.dumps(found, indent=2))
        return
    for name, times in found["startup"].items():
        print(f"{name:24} best {times['best_s']:.3f} s   median {times['median_s']:.3f} s")
    for run in (few, many):
        whole = run["cpu_s"] / run["rollouts"] * 1000
        print(
            f"{run['rollouts']:4.0f} rollouts: {run['cpu_s']:.2f} s CPU, {whole:.1f} ms each, start-up and git included"
        )
    print(f"each further rollout: {slope * 1000:.2f} ms CPU")


if __name__ == "__main__":
    main()
