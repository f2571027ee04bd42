"""An `outputs/<run>` folder of SkillOpt, read as far as its steps are whole: docs/importing.md has the format."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from skillgit.errors import UsageError
from skillgit.train.imports.files import Folder
from skillgit.train.imports.values import RawRun, RawSlow, RawStep

INITIAL = "skills/skill_v0000.md"
_STEP = re.compile(r"step_(\d{4,9})")
_BATCH = re.compile(r"batch_\d{1,4}")
_OLDEST = datetime(1970, 1, 2, tzinfo=UTC)


def read(path: Path) -> RawRun:
    """The run in a folder.

    Raises:
        UsageError: there is no such folder, or no run of SkillOpt in it.
    """
    if not path.is_dir():
        raise UsageError(f"{path}: there is no such folder", mend="name an output folder of SkillOpt (its out_root)")
    folder = Folder(path)
    initial = folder.text(INITIAL)
    if initial is None:
        _refuse(folder)
    steps, left_out = _steps(folder)
    return RawRun(
        name=path.resolve().name,
        config=folder.mapping("config.json"),
        initial=initial or "",
        steps=steps,
        slow={epoch: slow for epoch in {_epoch(step.record) for step in steps} if (slow := _slow(folder, epoch))},
        best=folder.text("best_skill.md"),
        summary=folder.mapping("summary.json"),
        baseline=folder.objects("selection_eval_baseline/results.jsonl"),
        final=folder.objects("final_selection_eval/results.jsonl"),
        started=_started(folder, steps),
        left_out=left_out,
    )


def _refuse(folder: Folder) -> None:
    inner = [name for name in folder.entries() if folder.has(f"{name}/{INITIAL}")]
    why = f"{INITIAL} is {folder.damaged[INITIAL]}" if INITIAL in folder.damaged else f"there is no {INITIAL}"
    mend = f"name a run in it: {', '.join(inner[:5])}" if inner else "name an output folder of SkillOpt (its out_root)"
    raise UsageError(f"{folder.root}: no run of SkillOpt: {why}", mend=mend)


def _steps(folder: Folder) -> tuple[tuple[RawStep, ...], tuple[str, ...]]:
    """The steps from the first to the last whole one, and what is left out behind it."""
    rows = {row["step"]: row for row in folder.objects("history.json") if type(row.get("step")) is int}
    there = {int(match[1]) for name in folder.entries("steps") if (match := _STEP.fullmatch(name))}
    last = max(there | rows.keys(), default=0)
    steps: list[RawStep] = []
    for number in range(1, last + 1):
        step = _step(folder, number, rows.get(number, {}), steps[-1].record if steps else {})
        if step is None:
            return tuple(steps), (_cut(folder, number, last, there=number in there),)
        steps.append(step)
    return tuple(steps), ()


def _cut(folder: Folder, number: int, last: int, *, there: bool) -> str:
    record = f"{_folder(number)}/step_record.json"
    why = "it was not finished" if there else "it is missing"
    if record in folder.damaged:
        why = f"its step_record.json is {folder.damaged[record]}"
    more = f" (and all behind it, up to step {last})" if last > number else ""
    return f"step {number} was left out{more}: {why}"


def _step(folder: Folder, number: int, row: Mapping[str, Any], before: Mapping[str, Any]) -> RawStep | None:
    """A whole step; None where it has no record that follows the one before."""
    where = _folder(number)
    record = folder.mapping(f"{where}/step_record.json")
    if record.get("step") != number:
        # The history is written first: a run that was killed between the two went on without this file.
        record = dict(row)
    if not isinstance(record.get("action"), str) or _epoch(record) < max(1, _epoch(before)):
        return None
    candidate = folder.text(f"{where}/candidate_skill.md")
    batches = [name for name in folder.entries(where) if _BATCH.fullmatch(name)]
    train = [f"{where}/{name}/rollout" for name in batches] or [f"{where}/rollout"]
    written = (f"{where}/step_record.json", f"{where}/trajectory_digest.json", f"{where}/candidate_skill.md")
    return RawStep(
        number=number,
        record=record,
        candidate=candidate,
        after=folder.text(f"skills/skill_v{number:04d}.md"),
        patch=folder.mapping(f"{where}/ranked_edits.json"),
        report=folder.objects(f"{where}/edit_apply_report.json"),
        attempts=folder.objects(f"{where}/selection_eval/results.jsonl"),
        batch=[row for name in train for row in folder.objects(f"{name}/results.jsonl")],
        when=_time(folder.time(*written, "history.json")),
    )


def _slow(folder: Folder, epoch: int) -> RawSlow | None:
    where = f"slow_update/epoch_{epoch:02d}"
    result = folder.mapping(f"{where}/slow_result.json")
    if not isinstance(result.get("action"), str):
        return None
    return RawSlow(
        result=result,
        candidate=folder.text(f"{where}/candidate_skill.md"),
        attempts=folder.objects(f"{where}/selection_eval/results.jsonl"),
        pairs=len(folder.objects(f"{where}/comparison_pairs.json")),
        when=_time(folder.time(f"{where}/slow_result.json")),
    )


def _started(folder: Folder, steps: tuple[RawStep, ...]) -> datetime:
    """The earliest sign of the run. A run that went on writes config and first document again."""
    signs = [_time(folder.time("config.json", INITIAL)), _time(folder.time(INITIAL))]
    if steps:
        took = steps[0].record.get("wall_time_s")
        known = isinstance(took, int | float) and math.isfinite(took) and 0 <= took < 10**7
        signs.append(max(_OLDEST, steps[0].when - timedelta(seconds=math.ceil(took) if known and took else 0)))
    return min(signs)


def _folder(number: int) -> str:
    return f"steps/step_{number:04d}"


def _epoch(record: Mapping[str, Any]) -> int:
    """A record's epoch, from 1; 0 where it says none."""
    epoch = record.get("epoch")
    return epoch if type(epoch) is int and 0 < epoch < 10**6 else 0


def _time(seconds: float | None) -> datetime:
    """A file's time, to the second, as commits have it."""
    return max(_OLDEST, datetime.fromtimestamp(math.floor(seconds or 0), UTC))
