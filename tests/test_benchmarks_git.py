"""The figures on long histories: the history is one that the product could have written, and each command is timed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support import cli, repos

import skillgit

ROOT = Path(skillgit.__file__).parent.parent
sys.path.insert(0, str(ROOT))  # the scripts are no part of the package

from benchmarks.git.history import make, read  # noqa: E402
from benchmarks.git.setting import SKILL, Made, Size  # noqa: E402

SIZE = Size(steps=50, rejected=25, runs=2)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("git") / "history", SIZE)


def refs(made: Made, prefix: str) -> list[str]:
    return repos.git(made.root, "for-each-ref", "--format=%(refname)", prefix).splitlines()


def test_the_history_has_the_steps_and_refs_that_were_asked_for(made: Made) -> None:
    assert refs(made, "refs/skillgit/rejected") == made.rejected
    assert (len(made.rejected), len(made.accepted)) == (25, 50 - 25 - 2 * (25 // 10))
    assert [ref.rpartition("/")[2] for ref in refs(made, "refs/skillgit/runs")] == made.runs
    assert len(refs(made, "refs/tags")) == 2 * 4, "a tag for each epoch"
    assert refs(made, "refs/skillgit/evidence") == [f"refs/skillgit/evidence/{SKILL}/{run}" for run in made.runs]
    assert repos.git(made.root, "rev-parse", f"skill/{SKILL}").strip() == made.accepted[-1]
    journals = repos.git(made.root, "log", "--format=%s", "--glob=refs/skillgit/runs").splitlines()
    assert sum(subject.startswith("skillgit journal: ") for subject in journals) == 50 + 2
    assert read(made.root) == made


def test_the_product_takes_the_history_for_its_own(made: Made) -> None:
    done = cli.call(made.root, "verify", SKILL, "--json")
    report = json.loads(done.out)
    assert (done.code, report["differences"], report["entries"]) == (0, [], 52)
    fsck = subprocess.run(["git", "fsck", "--strict"], cwd=made.root, capture_output=True, text=True, check=False)
    assert (fsck.returncode, "error" in fsck.stderr) == (0, False)
    rows = json.loads(cli.call(made.root, "log", SKILL, "--json").out)
    assert len(rows) == 52
    counts = {decision: sum(row["decision"] == decision for row in rows) for decision in ("accept-best", "none")}
    assert counts == {"accept-best": len(made.accepted), "none": 4}


def test_every_command_is_timed_beside_its_equal_of_git(made: Made, tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    options = ["--repeats", "1", "--pushes", "1", "--keep", str(made.root.parent), "--json", str(out)]
    command = [sys.executable, "-m", "benchmarks.git", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("50 steps in 2 runs (21 accepted, 25 rejected)")
    rows = {row["command"]: row for row in json.loads(out.read_text(encoding="utf-8"))}
    assert {name for name, row in rows.items() if row["aim_s"] is not None} == {
        "log -n 20",
        "status",
        "show",
        "show COMMIT",
        "blame",
        "push, rejected refs",
    }
    for name, row in rows.items():
        assert row["skillgit"]["wall_s"] > 0 < row["git"]["wall_s"], name
        assert row["wall_ratio"] == pytest.approx(row["skillgit"]["wall_s"] / row["git"]["wall_s"], rel=0.2)
        assert f"| {name} |" in done.stdout
    remote = made.root.parent / "history-remote.git"
    assert (
        repos.git(remote, "for-each-ref", "--format=%(refname)", "refs/skillgit/rejected").splitlines() == made.rejected
    )
