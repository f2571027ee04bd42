"""A folder of a real SkillOpt run (0.2.0, on the loopback world of benchmarks/trainers), copied to be changed.
What is not read, or holds SkillOpt's own wording, was taken out of it.

Two steps an epoch, three epochs; val has 12 tasks, the gate looks at `hard`:

    step  candidate    hard    soft    current
    0                  0/12    0       0/12
    1     accepted     3/12    7/24    3/12      4 edits
    2     accepted     6/12    5/8     6/12      4 edits, then the empty region for guidance
    3     rejected     6/12    5/8     6/12      2 edits
    4     rejected     6/12    5/8     6/12      1 edit, then guidance, not measured
    5     rejected     5/12    13/24   6/12      2 edits
    6     accepted     9/12    5/6     9/12      1 edit; the guidance stays
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "train/imports/data/run"
STARTED = datetime(2025, 3, 4, 5, 6, 7, tzinfo=UTC)
"""When config.json was written; step N ended N times ten minutes later, an epoch's slow update a minute after that."""


def at(step: int, *, slow: bool = False) -> datetime:
    """When a step, or the slow update behind it, ended."""
    return STARTED + timedelta(minutes=10 * step + slow)


class Run:
    """The copy."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(DATA, root)
        self.date()

    def date(self) -> None:
        """Give the files the times that a run of an hour leaves."""
        for path in self.root.rglob("*"):
            parts = path.relative_to(self.root).parts
            moment = STARTED
            if parts[0] == "steps" and len(parts) > 1:
                moment = at(int(parts[1].removeprefix("step_")))
            if parts[0] == "slow_update" and len(parts) > 1:
                moment = at(2 * int(parts[1].removeprefix("epoch_")), slow=True)
            os.utime(path, (moment.timestamp(), moment.timestamp()))

    def text(self, name: str) -> str:
        """A file."""
        return (self.root / name).read_text()

    def json(self, name: str) -> Any:
        """A file's JSON."""
        return json.loads(self.text(name))

    def put(self, name: str, content: str | bytes | object) -> None:
        """Write a file: text, bytes, or JSON; its time stays what it was."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        was = path.stat() if path.exists() else None
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        if was is not None:
            os.utime(path, (was.st_atime, was.st_mtime))

    def change(self, name: str, **fields: Any) -> None:
        """Other fields in a JSON object; in a step's record, in the history's row too. None removes one."""
        self.put(name, _changed(self.json(name), fields))
        if name.endswith("step_record.json"):
            number = self.json(name)["step"]
            rows = self.json("history.json")
            self.put("history.json", [_changed(row, fields) if row["step"] == number else row for row in rows])

    def record(self, step: int, **fields: Any) -> None:
        """Other fields in a step's record."""
        self.change(f"{self.step(step)}/step_record.json", **fields)

    def rewrite(self, step: int, make: Callable[[str], str]) -> str:
        """Another candidate, measured as such, and, of an accepted step, what SkillOpt went on with."""
        old, name = self.candidate(step), f"{self.step(step)}/candidate_skill.md"
        text = make(old)
        self.put(name, text)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.record(step, candidate_hash=digest)
        if self.text(self.skill(step)) == old:
            self.put(self.skill(step), text)
            self.record(step, skill_len=len(text))
        return text

    def candidate(self, step: int) -> str:
        """A step's candidate."""
        return self.text(f"{self.step(step)}/candidate_skill.md")

    def remove(self, *names: str) -> None:
        """Remove files or folders."""
        for name in names:
            path = self.root / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def stop_after(self, step: int) -> None:
        """As if the run had been killed behind a step (and behind its slow update, where an epoch ends with it)."""
        for later in range(step + 1, 7):
            self.remove(self.step(later), self.skill(later))
        for epoch in range(1, 4):
            if 2 * epoch > step:
                self.remove(f"slow_update/epoch_{epoch:02d}")
        self.remove("summary.json")
        rows = [row for row in self.json("history.json") if row["step"] <= step]
        self.put("history.json", rows)
        best = rows[-1]["best_step"] if rows else 0
        self.put("best_skill.md", self.candidate(best) if best else self.text(self.skill(0)))

    @staticmethod
    def step(number: int) -> str:
        """A step's folder."""
        return f"steps/step_{number:04d}"

    @staticmethod
    def skill(number: int) -> str:
        """The document behind a step."""
        return f"skills/skill_v{number:04d}.md"


def _changed(value: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in {**value, **fields}.items() if item is not None}
