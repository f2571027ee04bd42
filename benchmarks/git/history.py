"""A repository with a skill's history of any length, packed as `git gc` leaves it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.git.packing import PackWriter
from benchmarks.git.setting import CONFIG, DOCUMENT, SKILL, Made, Size, begin, git
from benchmarks.git.writing import START, Writer
from skillgit.config import parse
from skillgit.store.locks import SkillLock
from skillgit.store.repository import Repository
from skillgit.store.transactions import commit_refs
from skillgit.train.archive import documents

_KEPT = "bench.json"


def make(root: Path, size: Size) -> Made:
    """Write it: the objects as one pack, the refs in one transaction of the product's."""
    root.mkdir(parents=True)
    begin(root, size.rules)
    repo = Repository.open(root)
    settings = parse(CONFIG, "skillgit.yaml", ()).skill(SKILL)
    base = git(root, "rev-parse", "main").strip()
    placed = documents.read(repo, base, DOCUMENT)
    below, made = repo.objects, Made(root, steps=size.steps)
    repo.objects = store = PackWriter(repo, repo.common_dir / "bench.pack", int(START.timestamp()))
    writer = Writer(repo, settings, size, base, placed, made)
    for number in range(size.runs):
        writer.run(number)
    made.objects = store.finish()
    repo.objects = below
    with SkillLock.acquire(repo, SKILL, "bench") as lock:
        commit_refs(repo, writer.moves(), "skillgit: a history for a benchmark", lock=lock)
    repo.close()
    git(root, "repack", "-adfq")
    git(root, "pack-refs", "--all")
    git(root, "commit-graph", "write", "--reachable", "--no-progress")
    (root / ".git" / _KEPT).write_text(json.dumps({**asdict(made), "root": ""}), encoding="utf-8")
    return made


def read(root: Path) -> Made:
    """One that was made before."""
    return Made(**{**json.loads((root / ".git" / _KEPT).read_text(encoding="utf-8")), "root": root})
