"""`skillgit log`: its graph, its rows, and what it says where there is nothing to show."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support import cli, repos, training
from support.place import Place
from support.training import BRANCH, DOCUMENT, SKILL

from skillgit.cli import log

CONFIG = training.configuration(train="{num_epochs: 2, batch_size: 8}")


@dataclass
class Trained:
    root: Path

    def log(self, *options: str) -> list[str]:
        done = cli.call(self.root, "log", SKILL, *options)
        assert (done.code, done.err) == (0, "")
        return done.out.splitlines()

    def json(self, *options: str) -> Any:
        return json.loads("\n".join(self.log("--json", *options)))

    def git(self, *arguments: str) -> str:
        return repos.git(self.root, *arguments)

    def person(self, subject: str, *, author: str = "Jo Doe <jo@example.com>", text: str = "More.\n") -> str:
        """A person's commit on the skill's branch, made in a work tree of its own."""
        other = self.root.parent / f"w{len(list(self.root.parent.iterdir()))}"
        self.git("worktree", "add", "-q", str(other), f"skill/{SKILL}")
        document = (other / DOCUMENT).read_text() + text
        (other / DOCUMENT).write_text(document)
        repos.git(other, "commit", "-q", "-a", "--author", author, "-m", subject)
        self.git("worktree", "remove", str(other))
        return self.git("rev-parse", BRANCH)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two runs: two rejected steps; then accepted, accepted, rejected, accepted."""
    root = tmp_path_factory.mktemp("once") / "r"
    with training.trained_once(root, training.mixed(), ["train.num_epochs=1"], [], config=CONFIG) as made:
        decisions = [[step.decision for step in run] for run in training.journals(root)]
        assert decisions == [
            ["baseline", "reject", "reject"],
            ["baseline", "accept-best", "accept-best", "reject", "accept-best"],
        ]
        yield made.root


@pytest.fixture
def trained(once: Path, tmp_path: Path) -> Trained:
    return Trained(shutil.copytree(once, tmp_path / "r", symlinks=True))


def test_the_graph(trained: Trained) -> None:
    """Rejected candidates stand beside the tip that they were tried on: by git, the parent of their first commit."""
    plain, drawn = trained.log(), trained.log("--graph")
    marks = [line[:4].rstrip() for line in drawn if not line.startswith("run ")]
    assert marks == ["*", "| x", "|/", "*", "*", "o", "| x", "|/", "| x", "|/", "o"]
    assert [line[4:] for line in drawn if line[4:] and not line.startswith("run ")] == plain[1:6] + plain[7:]
    rows = trained.json()
    main = [row["commits"][-1] for row in rows if row["decision"] == "accept-best"]
    rejected = next(row for row in rows if row["decision"] == "reject")
    tried_on = trained.git("rev-parse", f"{rejected['commits'][0]}^")
    assert tried_on == main[1], "the row below the side branch"
    assert trained.git("merge-base", "--is-ancestor", tried_on, BRANCH) == ""


def test_people_and_their_verbs_are_marked(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_COMMITTER_NAME", "Test Person")
    assert cli.call(trained.root, "revert", SKILL, "4", "--no-gate").code == 0
    oid = trained.person("Say \x1b[31mmore\x07")
    drawn = trained.log("--graph")
    assert drawn[0] == "not measured yet"
    assert drawn[1] == f"h      -  {oid[:10]}  Jo Doe <jo@example.com>: Say \\x1b[31mmore\\x07"
    assert drawn[2].startswith("run ")
    # The document of step 2 again, which has its score; nothing was measured for it.
    assert re.match(r"r      4  revert forced +50\.0%  +2 edits  0 calls ", drawn[3])
    assert drawn[4].startswith("*      4  accept-best ")
    (first, second, *_) = trained.json()
    assert (first["kind"], first["author"], first["subject"]) == (
        *("unmeasured", "Jo Doe <jo@example.com>", "Say \x1b[31mmore\x07"),
    )
    assert (second["kind"], second["decision"], second["author"]) == ("revert", "forced", None)
    assert second["journal"] == trained.git("rev-parse", f"refs/skillgit/runs/{SKILL}/{second['run']}")
    assert trained.log("--graph", "--run", second["run"][:12])[1] == drawn[3]


def test_a_rollback_has_a_mark_of_its_own(trained: Trained) -> None:
    assert cli.call(trained.root, "rollback", SKILL, "--to", "main").code == 0
    drawn = trained.log("--graph")
    assert re.match(r"b      4  revert forced ", drawn[1]), drawn[1]
    assert re.match(r"\*      4  accept-best ", drawn[2])


def test_a_row_ends_where_the_terminal_does(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, rows = trained.log(), trained.json()
    monkeypatch.setattr(log, "room_for", lambda _: 90)
    for options, mark in (((), 0), (("--graph",), 4)):
        lines = [line for line in trained.log(*options) if line != "|/"]
        assert 88 <= max(map(len, lines)) <= 90, "a blank before the dots is left out"
        assert [line.endswith("…") for line in lines] == [
            len(line) + mark > 90 and not line.startswith("run ") for line in whole
        ]
    assert trained.json() == rows


@pytest.mark.parametrize(
    ("text", "room", "shown"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("one two", 5, "one…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("anything", 1, ""),
        ("anything", -7, ""),
        ("", -7, ""),
    ],
)
def test_text_is_cut_by_columns(text: str, room: int, shown: str) -> None:
    assert log.cut(text, room) == shown


def test_a_terminal_has_columns_and_a_pipe_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "101")
    main, other = os.openpty()
    with open(other, "w") as terminal, open(os.devnull, "w") as nothing:
        assert log.room_for(terminal) == 101
        assert log.room_for(nothing) > 10**6
    os.close(main)


def test_the_run_whose_entry_is_the_newest_stands_first(trained: Trained) -> None:
    """An older run that ended last, as where two clones met: its last entry is later than the newer run's."""
    runs = sorted(repos.refs(trained.root, "refs/skillgit/runs/"))
    before = trained.json()
    again = trained.git("cat-file", "commit", runs[0])
    later = re.sub(r"(?m)^(committer .*> )\d+", lambda found: f"{found[1]}{4102444800}", again)
    oid = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=trained.root,
        input=later + "\n",
        text=True,
        capture_output=True,
        check=True,
    ).stdout.strip()
    trained.git("update-ref", runs[0], oid)
    shown, newest = trained.json(), [run.rpartition("/")[2] for run in runs][::-1]
    assert list(dict.fromkeys(row["run"] for row in before)) == newest
    assert list(dict.fromkeys(row["run"] for row in shown)) == newest[::-1]
    assert list(dict.fromkeys(row["run"] for row in trained.json("--rejected"))) == newest[::-1]
    assert trained.json("-n", "1") == shown[:1]
    (found,) = [json.loads(cli.call(trained.root, "show", "--json").out)]
    assert (found["run"], found["step"]) == (shown[0]["run"], shown[0]["step"])


def test_rows_have_delta_and_numbers_of_the_journal(trained: Trained) -> None:
    """3/8 to 1/2 is 12.5 points; 16 val tasks."""
    row = next(row for row in trained.json() if (row["step"], row["decision"]) == (2, "accept-best"))
    assert (row["before"], row["score"], row["delta"]) == (0.375, 0.5, 0.125)
    line = trained.log()[3]
    assert re.match(
        rf" +2  accept-best +50\.0%  \+12\.5  3 edits +\d+ calls +{row['commits'][-1][:10]}  \+0\.1250 ", line
    )


def test_rejected_candidates_are_interleaved(trained: Trained) -> None:
    kept = repos.refs(trained.root, "refs/skillgit/rejected/")
    shown = {row["ref"]: row["commits"][-1] for row in trained.json("--rejected") if row["ref"]}
    assert shown == kept
    lines = trained.log("--rejected")
    assert [line.rpartition("  ")[2] for line in lines if "refs/" in line] == sorted(kept, reverse=True)
    assert [line.rpartition("  ")[0] if "refs/" in line else line for line in lines] == trained.log()


def test_a_clone_without_the_journals(trained: Trained) -> None:
    before = trained.log("--rejected", "--graph")
    for ref in repos.refs(trained.root, "refs/skillgit/runs/"):
        trained.git("update-ref", "-d", ref)
    assert trained.log() == [f"skill/{SKILL} is here, the journals of its runs are not: `skillgit fetch`"]
    lines = trained.log("--rejected", "--graph")
    assert len([line for line in lines if line == "|/"]) == 3
    row = re.compile(r"\| x +(\d+)(?:-01)?  (reject +\S+ .*? \d edits  \d+ calls +[0-9a-f]{10})  .*  (refs/\S+)")
    found = [row.fullmatch(line) for line in lines if "refs/" in line]
    assert all(match and "its journal is not here" in match[0] for match in found)
    old = [match.groups() for line in before if (match := row.fullmatch(line))]
    assert [match.groups() for match in found if match] == old, "the same numbers, from the trailers"


def test_nothing_here_but_a_fetched_remote(trained: Trained) -> None:
    clone = trained.root.parent / "clone"
    repos.git(trained.root.parent, "clone", "-q", str(trained.root), str(clone))
    said = cli.call(clone, "log", SKILL).out
    assert said == (
        f"{SKILL} was not trained here, but on a remote that was fetched (refs/remotes/origin/skill/{SKILL}): "
        "`skillgit fetch`\n"
    )
    assert json.loads(cli.call(clone, "log", SKILL, "--json").out) == []
    status = cli.call(clone, "status").out.splitlines()
    assert status[1:] == [
        "  not trained here yet; its history is on a remote: `skillgit fetch`",
        f"  remote   origin/skill/{SKILL} at {trained.git('rev-parse', BRANCH)[:12]}",
    ]


def test_a_count_is_of_entries(trained: Trained) -> None:
    everything = trained.log()
    assert trained.log("-n", "3") == everything[:4]
    assert trained.log("-n", "3", "--run", everything[6][4:]) == everything[6:10]
    assert [row["step"] for row in trained.json("-n", "6")] == [4, 3, 2, 1, 0, 2]


def test_only_what_is_printed_is_read(trained: Trained) -> None:
    """An older entry may even be unreadable: its object is taken away."""
    ref = max(repos.refs(trained.root, "refs/skillgit/runs/"))
    blob = trained.git("rev-parse", f"{ref}~3:step.json")
    everything = trained.log()
    (trained.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    assert trained.log("-n", "3") == everything[:4]
    done = cli.call(trained.root, "log", SKILL)
    assert (done.code, done.err.count("\n")) == (2, 1)


def test_no_such_run(place: Place) -> None:
    assert place.refused("log", SKILL, "--run", "zz") == f"{SKILL} has no run zz; see `skillgit log {SKILL}`"
    assert place.refused("log", "nobody").startswith("skillgit.yaml: no skill 'nobody'")
