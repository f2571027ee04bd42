"""Compare skillgit, SkillOpt 0.2.0 and gepa 0.1.4 on one simulated API.

    python -m benchmarks.trainers --seeds 8 --json FILE

from the repository's root. Trainings run one after the other. SkillOpt and gepa are installed into a virtual
environment in the user's cache folder when they are first asked for.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path

from benchmarks.trainers.faults import add_options, chosen
from benchmarks.trainers.table import table
from benchmarks.trainers.trainers import NAMES, ROOT, Setting, measure


def parser() -> argparse.ArgumentParser:
    """The options."""
    found = argparse.ArgumentParser(
        prog="python -m benchmarks.trainers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    found.add_argument("--seeds", type=int, default=8, help="how many server seeds")
    found.add_argument("--first-seed", type=int, default=1, help="the first of them")
    found.add_argument("--only", default=",".join(NAMES), help="trainers, with commas between them")
    found.add_argument("--world-seed", type=int, default=1, help="topics, codes and tickets")
    found.add_argument("--topics", type=int, default=16)
    found.add_argument("--sizes", default="64,48,200", help="tickets in train, val and test")
    found.add_argument("--quick", action="store_true", help="one seed, skillgit only, latencies divided by 50")
    found.add_argument("--speed", type=float, default=1.0, help="latencies are divided by this")
    found.add_argument("--limit", type=float, default=600.0, metavar="SECONDS", help="a training is ended after this")
    found.add_argument("--scheduler", default="cosine", help="of the edit budget, for skillgit and SkillOpt alike")
    found.add_argument("--set", dest="settings", metavar="SECTION.KEY=VALUE", action="append", default=[])
    found.add_argument("--skillgit", type=Path, default=ROOT, metavar="DIR", help="the checkout whose skillgit trains")
    found.add_argument("--peers", type=Path, metavar="DIR", help="the virtual environment of SkillOpt and gepa")
    found.add_argument("--keep", type=Path, metavar="DIR", help="keep repositories, outputs and logs here")
    found.add_argument("--json", type=Path, metavar="FILE", help="write every row, with the server's counts")
    found.add_argument("--brief", action="store_true", help="only the summary lines")
    add_options(found)
    return found


def main() -> int:
    """Measure and print; 1 where a training did not end well."""
    given = parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers and trainers are ended too
    names = ["skillgit"] if given.quick else given.only.split(",")
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        parser().error(f"no trainer {unknown[0]!r}: choose from {', '.join(NAMES)}")
    train, val, test = map(int, given.sizes.split(","))
    setting = Setting(
        given.world_seed,
        given.topics,
        (train, val, test),
        chosen(given),
        50.0 if given.quick else given.speed,
        given.limit,
        given.scheduler,
        given.skillgit.resolve(),
        tuple(given.settings),
        given.peers,
        given.keep,
    )
    rows = []
    for seed in range(given.first_seed, given.first_seed + (1 if given.quick else given.seeds)):
        for name in names:
            rows.append(measure(name, seed, setting))
            row = rows[-1]
            print(
                f"{name} seed {seed}: {row.wall_s:.1f} s, test {row.test:.3f}, {row.ended}", file=sys.stderr, flush=True
            )
            if given.json:
                given.json.write_text(json.dumps([r.to_json() for r in rows], indent=1) + "\n", encoding="utf-8")
    print(table(sorted(rows, key=lambda row: (names.index(row.trainer), row.seed)), seeds=not given.brief))
    return 0 if all(row.ended == "ok" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
