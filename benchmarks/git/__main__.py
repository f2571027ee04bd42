"""Look at a history of 10,000 steps and 5,000 rejected refs, and push it, each command beside plain git's.

    python -m benchmarks.git

from the repository's root. The history is made first, which takes a minute or two; `--keep DIR` keeps it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.git.cases import looking, sending, startup
from benchmarks.git.history import make, read
from benchmarks.git.measuring import measure, table
from benchmarks.git.setting import Size


def parser() -> argparse.ArgumentParser:
    """The options."""
    found = argparse.ArgumentParser(
        prog="python -m benchmarks.git", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    found.add_argument("--steps", type=int, default=10_000)
    found.add_argument("--rejected", type=int, default=5_000)
    found.add_argument("--runs", type=int, default=100, help="the steps are divided among them")
    found.add_argument("--repeats", type=int, default=7, help="runs of each command that only reads")
    found.add_argument("--pushes", type=int, default=3, help="runs of each push; 0 leaves them out")
    found.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the history here; measure again one that is there"
    )
    found.add_argument("--json", type=Path, metavar="FILE", help="write every run of every command")
    return found


def main() -> int:
    """Make, measure and print."""
    given = parser().parse_args()
    size = Size(given.steps, given.rejected, given.runs)
    with tempfile.TemporaryDirectory(prefix="skillgit-bench-") as folder:
        begin = time.perf_counter()
        root = (given.keep or Path(folder)).resolve() / "history"
        made = read(root) if root.exists() else make(root, size)
        print(f"{made.told()}; ready after {time.perf_counter() - begin:.0f} s; load {os.getloadavg()[0]:.1f}")
        rows = measure([*startup(), *looking(made)], root, given.repeats)
        rows += measure(sending(made), root, given.pushes) if given.pushes else []
    print(f"load {os.getloadavg()[0]:.1f}\n\n{table(rows)}")
    if given.json:
        given.json.write_text(json.dumps([row.to_json() for row in rows], indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
