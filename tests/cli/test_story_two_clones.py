"""The whole story with two clones and a bare remote: each command in a process of its own, each step seen by git.

init, train, a person's edit, revert, cherry-pick, merge with a moved base, push; clone elsewhere, fetch, train on;
both train, the second push is refused, its steps are re-based and gated again, and all of it verifies.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support import cli, repos
from support.cli import Done
from support.server import Server, serve
from support.story import BEST, BRANCH, DOCUMENT, SKILL, Story, begin
from support.truth import share
from support.world import Kinds, TopicWorld

SETTINGS = ("optimizer.use_slow_update=false", "optimizer.use_meta_skill=false", "optimizer.learning_rate=1")
PLAIN = tuple(part for setting in SETTINGS for part in ("--set", setting))


class Clone:
    """A clone, with commands run in it as a person does."""

    def __init__(self, root: Path, server: Server, world: TopicWorld) -> None:
        self.root, self.server, self.world = root, server, world

    def run(self, *arguments: str, code: int = 0) -> Done:
        done = cli.start(self.root, *arguments, env=self.server.env())
        assert done.code == code, f"{' '.join(arguments)}\n{done.out}\n{done.err}"
        return done

    def json(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json").out)

    def train(self, *more: str) -> Any:
        return self.json("train", SKILL, *PLAIN, *more)

    def git(self, *arguments: str, code: int = 0) -> str:
        return repos.git(self.root, *arguments, check=code == 0)

    def text(self, rev: str = BRANCH, path: str = DOCUMENT) -> str:
        return repos.git(self.root, "cat-file", "blob", f"{rev}:{path}") + "\n"

    def score(self, rev: str = BRANCH) -> float:
        return round(float(share(self.world, self.text(rev))), 6)

    def edit(self, old: str, new: str, message: str) -> str:
        """A person's commit on the branch that is checked out."""
        path = self.root / DOCUMENT
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
        self.git("commit", "-qam", message)
        return self.git("rev-parse", "HEAD")


def test_the_whole_story(tmp_path: Path) -> None:
    world = TopicWorld(20, 3, kinds=Kinds(50, 25))
    with serve(world) as server:
        here = first_clone(tmp_path, world, server)
        trained_and_changed(here)
        merged_with_a_moved_base(here)
        there = second_clone(tmp_path, here)
        both_train_and_meet(here, there)
        for clone in (here, there):
            clone.run("verify", SKILL)
            clone.run("doctor", "--repair", code=0)
            repos.fsck(clone.root)


def first_clone(tmp_path: Path, world: TopicWorld, server: Server) -> Clone:
    """`git init`, `skillgit init`, tasks, a document; a bare remote."""
    story: Story = begin(tmp_path / "here", world, server, target="openai/sim", optimizer="anthropic/sim")
    repos.make_repo(tmp_path / "bare", bare=True, identity=False)
    story.git("remote", "add", "origin", str(tmp_path / "bare"))
    story.git("push", "-q", "-u", "origin", "main")
    return Clone(story.root, server, world)


def trained_and_changed(here: Clone) -> None:
    outcome = here.train()
    assert outcome["improved"]
    assert round(outcome["after"], 6) == here.score()
    # A person's edit on the branch: measured first by the next training, which goes on from it.
    here.git("switch", "-q", f"skill/{SKILL}")
    person = here.edit("Answer with the code.", "Answer with the code alone.", "Say it shorter")
    here.git("switch", "-q", "main")
    outcome = here.train("--set", "train.seed=2")
    assert here.git("merge-base", person, BRANCH) == person
    assert "Answer with the code alone." in here.text()
    assert round(outcome["after"], 6) == here.score(f"refs/skillgit/best/{SKILL}")
    # One edit is taken out, with its reason, and brought back in by the gate.
    right = {world_rule for topic in here.world.codes if (world_rule := here.world.rule(topic)) in here.text()}
    rows = [row for row in here.json("blame", SKILL)["lines"] if row["text"] in right]
    assert {row["text"] for row in rows} == right
    taken = rows[0]
    before = here.score()
    here.run("revert", SKILL, taken["commit"], "--no-gate", "-m", "to see what it does")
    assert taken["text"] not in here.text()
    assert here.score() < before
    back = here.json("cherry-pick", SKILL, taken["commit"])
    assert back["decision"] in ("accept", "accept-best")
    assert (back["before"], back["score"]) == (here.score(f"{BRANCH}^"), before)
    assert taken["text"] in here.text()


def merged_with_a_moved_base(here: Clone) -> None:
    moved = here.edit("# Tickets", "# Tickets and their codes", "A better title")
    before = here.git("rev-parse", BRANCH)
    here.run("merge", SKILL, "--into", "main")
    assert here.git("rev-parse", "main^1", "main^2").split()[0] == moved
    assert here.text("main") == here.text("main", BEST)
    assert "# Tickets and their codes" in here.text("main")
    assert here.score("main") == here.score(f"refs/skillgit/best/{SKILL}")
    assert here.git("rev-parse", BRANCH) == before
    assert here.git("tag", "-l", f"skill/{SKILL}/v*") == f"skill/{SKILL}/v1"
    assert here.git("status", "--porcelain", "--untracked-files=no") == ""
    here.git("push", "-q", "origin", "main")
    sent = here.json("push")
    assert {row["kind"] for row in sent["sent"]} >= {"branch", "best", "journal", "tag"}
    assert here.json("push")["sent"] == []


def second_clone(tmp_path: Path, here: Clone) -> Clone:
    repos.git(tmp_path, "clone", "-q", "bare", "there")
    repos.identify(tmp_path / "there")
    there = Clone(tmp_path / "there", here.server, here.world)
    there.json("fetch")
    for prefix in ("refs/skillgit/runs", "refs/skillgit/rejected", "refs/tags/skill", "refs/skillgit/best"):
        assert repos.refs(there.root, prefix) == repos.refs(here.root, prefix)
    assert there.run("log", SKILL).out == here.run("log", SKILL).out
    there.run("verify", SKILL)
    tip = here.git("rev-parse", BRANCH)
    outcome = there.train("--set", "train.seed=3")
    assert there.git("merge-base", tip, BRANCH) == tip
    assert round(outcome["before"], 6) >= here.score()
    return there


def both_train_and_meet(here: Clone, there: Clone) -> None:
    # Here, meanwhile, a person's idea passes the gate: a rule that nobody has found yet.
    rule = next(r for topic in here.world.codes if (r := here.world.rule(topic)) not in there.text() + here.text())
    here.git("switch", "-q", "-c", "idea")
    idea = here.edit("Answer with the code", f"{rule}\n\nAnswer with the code", "An idea")
    here.git("switch", "-q", "main")
    assert here.json("cherry-pick", SKILL, idea)["decision"] in ("accept", "accept-best")
    there.run("push")
    remote = there.git("ls-remote", "origin", BRANCH).split()[0]
    here.git("fetch", "-q", str(there.root), BRANCH)
    assert here.git("merge-base", remote, BRANCH) not in (remote, here.git("rev-parse", BRANCH))
    refused = here.run("push", code=2)
    assert "skillgit fetch" in refused.last
    assert f"skillgit train {SKILL}" in refused.last
    assert here.git("ls-remote", "origin", BRANCH).split()[0] == remote
    here.run("fetch")
    here.train("--set", "train.seed=6")
    (retried,) = [entry for entry in here.json("log", SKILL) if entry["kind"] == "retry"]
    assert retried["decision"] in ("accept", "accept-best")
    assert rule in here.text()
    assert here.git("merge-base", remote, BRANCH) == remote
    here.run("push")
    there.run("fetch")
    assert there.git("rev-parse", BRANCH) == here.git("rev-parse", BRANCH)
    assert there.git("rev-parse", "refs/notes/skillgit^{tree}") == here.git("rev-parse", "refs/notes/skillgit^{tree}")
    assert there.score() == here.score()
