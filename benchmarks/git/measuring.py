"""Fresh processes, timed by the wall-clock and by the processor; the table of what came out."""

from __future__ import annotations

import resource
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.git.cases import Case

_COLUMNS = ("command", "aim s", "wall s", "CPU s", "git: wall s", "git: CPU s", "wall ratio", "CPU ratio")


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of some runs of one command: by the wall-clock, and of the processor, children included."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Medians, and every run."""
        return {"wall_s": _middle(self.wall), "cpu_s": _middle(self.cpu), "walls": self.wall, "cpus": self.cpu}


@dataclass(frozen=True, slots=True)
class Row:
    """A case, measured."""

    case: Case
    ours: Times = field(default_factory=Times)
    plain: Times = field(default_factory=Times)

    def to_json(self) -> dict[str, Any]:
        """Stable keys."""
        return {
            "command": self.case.name,
            "aim_s": self.case.aim,
            "skillgit": self.ours.to_json(),
            "git": self.plain.to_json(),
            "wall_ratio": _ratio(self.ours.wall, self.plain.wall),
            "cpu_ratio": _ratio(self.ours.cpu, self.plain.cpu),
        }


def measure(cases: Sequence[Case], root: Path, repeats: int) -> list[Row]:
    """Each case `repeats` times, all of them in turn, so that a busy minute of the machine meets all of them; after one
    round that does not count where there are several."""
    rows = [Row(case) for case in cases]
    for number in range(repeats + (repeats > 1)):
        for row in rows:
            both = ((row.case.ours, row.ours), (row.case.plain, row.plain))
            for command, times in both if number % 2 else both[::-1]:
                if row.case.ready is not None:
                    row.case.ready()
                wall, cpu = timed(command, root)
                if number or repeats == 1:
                    times.wall.append(wall)
                    times.cpu.append(cpu)
    return rows


def timed(command: Sequence[str], root: Path) -> tuple[float, float]:
    """Seconds of wall-clock and of the processor that a command took.

    Raises:
        RuntimeError: it failed; with its own words.
    """
    before, begin = _spent(), time.perf_counter()
    done = subprocess.run(command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    wall, cpu = time.perf_counter() - begin, _spent() - before
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode(errors='replace')}")
    return wall, cpu


def _spent() -> float:
    """Seconds of the processor that children have taken so far, theirs included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(rows: Sequence[Row]) -> str:
    """Markdown: medians with the least and the most."""
    lines = [list(_COLUMNS), ["---"] * len(_COLUMNS)]
    for row in rows:
        told = row.to_json()
        ratios = [f"{told[key]:.1f}" if told[key] is not None else "" for key in ("wall_ratio", "cpu_ratio")]
        aim = "" if row.case.aim is None else f"{row.case.aim:g}"
        shown = [_spread(row.ours.wall), _spread(row.ours.cpu), _spread(row.plain.wall), _spread(row.plain.cpu)]
        lines.append([row.case.name, aim, *shown, *ratios])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _spread(seconds: Sequence[float]) -> str:
    return f"{_middle(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


def _middle(seconds: Sequence[float]) -> float:
    return round(statistics.median(seconds), 4)


def _ratio(ours: Sequence[float], plain: Sequence[float]) -> float | None:
    """Of the medians; None where git took no time that the clock shows."""
    below = statistics.median(plain)
    return round(statistics.median(ours) / below, 2) if below else None
