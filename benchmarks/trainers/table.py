"""The table: one line per training, and a line of medians and means per trainer."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.trainers.trainers import Row

_COLUMNS = (
    ("trainer", "trainer"),
    ("seed", "seed"),
    ("wall_s", "wall s"),
    ("api_s", "API s"),
    ("target_calls", "target calls"),
    ("optimizer_calls", "optimizer calls"),
    ("tokens_in", "tokens in"),
    ("best_val", "best val"),
    ("test", "test"),
    ("test_noisy", "test, noisy"),
    ("memory_mib", "memory MiB"),
    ("cpu_s", "CPU s"),
)
_MEANS = ("best_val", "test", "test_noisy")


def table(rows: Sequence[Row], *, seeds: bool = True) -> str:
    """Markdown. Medians over the seeds, means of val and test, and how far apart the seeds are.

    Args:
        seeds: print each training too.
    """
    found = [[title for _, title in _COLUMNS], ["---"] * len(_COLUMNS)]
    for trainer in dict.fromkeys(row.trainer for row in rows):
        own = [row for row in rows if row.trainer == trainer]
        if seeds:
            found += [[_shown(key, getattr(row, key)) for key, _ in _COLUMNS] for row in own]
        for label, pick in (("median or mean", _middle), ("least", min), ("most", max)):
            cells = [f"**{trainer}**", f"{label} of {len(own)}"]
            for key, _ in _COLUMNS[2:]:
                numbers = [getattr(row, key) for row in own]
                cells.append(
                    _shown(key, statistics.fmean(numbers) if pick is _middle and key in _MEANS else pick(numbers))
                )
            found.append(cells)
    lines = ["| " + " | ".join(cells) + " |" for cells in found]
    notes = [f"{row.trainer}, seed {row.seed}: {note}" for row in rows for note in _notes(row)]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def _notes(row: Row) -> list[str]:
    """What a reader of the table has to know of a training."""
    unknown = row.counts["unknown_prompts"]
    found = [] if row.ended == "ok" else [row.ended]
    if unknown:
        found.append(f"{len(unknown)} optimizer prompts of no known form: {unknown[0][:120]!r}")
    asked, left = row.target_calls + row.optimizer_calls, row.counts["given_up"] + row.counts["hung"]
    if row.said_calls is not None and (left or row.said_calls != asked):
        found.append(
            f"its journal counts {row.said_calls} calls, the server {asked}, of which {left} were not waited for"
        )
    if row.ended == "ok" and abs(row.best_val - row.val_noisy) > 0.0002:
        found.append(f"says best val {row.best_val:.4f}, the evaluator {row.val_noisy:.4f}")
    return found


def _middle(numbers: Sequence[float]) -> float:
    return statistics.median(numbers)


def _shown(key: str, value: object) -> str:
    if not isinstance(value, float):
        return f"{value:,}" if key == "tokens_in" else str(value)
    if key in _MEANS:
        return f"{value:.3f}"
    return f"{value:,.0f}" if key in ("tokens_in", "target_calls", "optimizer_calls") else f"{value:.1f}"
