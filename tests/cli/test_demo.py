"""`skillgit demo` against a loopback server: all of it, but for the embedded model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support import cli, repos
from support.copyist import Copyist
from support.server import Answer, Call, Server, serve

from skillgit.envs.contract import SPLITS
from skillgit.envs.loading import load_environment
from skillgit.train.demo import create, generated

SEED = 907


class Learner(Copyist):
    """A target that knows how to use a command of which the document shows one example."""

    def __init__(self) -> None:
        rows = [row for split in generated("opscli", SEED).values() for row in split]
        self._answers = {row["input"]: row["answer"] for row in rows}

    def __call__(self, call: Call) -> Answer:
        answer = self._answers.get(call.user.strip())
        if answer is None:
            return super().__call__(call)
        verb = " ".join(answer.split()[:2])
        return Answer(answer if f": {verb} " in f"{call.system} " else "no idea")


def demo(folder: Path, server: Server, *arguments: str) -> cli.Done:
    env = {
        **server.env(),
        "GIT_CONFIG_KEY_0": "init.defaultBranch",
        "GIT_CONFIG_VALUE_0": "trunk",
        "GIT_CONFIG_COUNT": "1",
    }
    return cli.start(folder, "demo", *arguments, "--model", "openai/sim", env=env)


def test_it_trains_and_shows_what_git_has(tmp_path: Path) -> None:
    with serve(Learner()) as server:
        done = demo(tmp_path, server, "show", "--split-seed", str(SEED), "--seed", "5")
        assert done.code == 0, done.err
        root = tmp_path / "show"
        parts = dict(re.findall(r"^== (.+)\n((?:(?!==).*\n?)*)", done.out, re.MULTILINE))
        assert list(parts) == [
            "git log skill/opscli",
            "rejected candidates, each a commit that stays reachable",
            "epochs and releases",
            "the base branch after the merge",
            "scores",
        ]
        commits = repos.git(root, "rev-list", "--abbrev-commit", "skill/opscli", "--not", "main~1").split()
        assert [line.split()[0] for line in parts["git log skill/opscli"].strip().splitlines()] == commits
        rejected = repos.refs(root, "refs/skillgit/rejected/opscli/")
        assert all(ref in parts["rejected candidates, each a commit that stays reachable"] for ref in rejected)
        tags = repos.refs(root, "refs/tags/skill/opscli/")
        assert all(tag.removeprefix("refs/tags/") in parts["epochs and releases"] for tag in tags)
        assert tags
        # The scores are those that git and the commands have.
        (status,) = json.loads(cli.call(root, "status", "--json").out)
        assert status["merged"]
        assert re.search(rf"^val +\d+\.\d% -> {status['best_score'] * 100:.1f}%$", parts["scores"], re.MULTILINE)
        notes = [
            json.loads(line) for line in repos.git(root, "notes", "--ref=skillgit", "show", f"main:{BEST}").splitlines()
        ]
        (test,) = [note for note in notes if note["split"] == "test"]
        number, of = map(int, test["hard"].split("/"))
        assert f"-> {100 * number / of:.1f}%  ({test['tasks']} tasks that training never saw)" in parts["scores"]
        assert f"best_skill.md  show/{BEST}" in parts["scores"]
        assert (root / BEST).read_bytes() == (root / "skills/opscli/SKILL.md").read_bytes()
        assert repos.git(root, "status", "--porcelain") == ""
        repos.fsck(root)
        # A name of its own where git has none, in this repository only.
        assert repos.git(root, "log", "-1", "--format=%ae", "main") == "demo@example.invalid"
        again = demo(tmp_path, server, "show")
        assert (again.code, again.out) == (2, "")


BEST = "skills/opscli/best_skill.md"


@pytest.mark.parametrize("skill", ["opscli", "houseformat"])
def test_a_split_seed_makes_fresh_splits(tmp_path: Path, skill: str) -> None:
    folders = {}
    for name, seed in (("own", None), ("a", 501), ("b", 502), ("again", 501)):
        create(tmp_path / name, model="openai/sim", split_seed=seed, skill=skill)
        folders[name] = load_environment(tmp_path / name / f"envs/{skill}", label=skill)
    inputs = {name: tuple(task.input for split in SPLITS for task in env.tasks(split)) for name, env in folders.items()}
    assert inputs["a"] == inputs["again"]
    assert len({inputs["own"], inputs["a"], inputs["b"]}) == 3


def test_a_folder_that_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/x").write_text("x")
    done = cli.call(tmp_path, "demo", "d", "--model", "openai/sim")
    assert (done.code, done.err) == (
        2,
        "skillgit: error: d: the folder is not empty; name another one: `skillgit demo DIR`\n",
    )
    done = cli.call(tmp_path, "demo", "d/x", "--model", "openai/sim")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert done.err.startswith("skillgit: error: d/x: Not a directory; ")


@pytest.mark.parametrize("model", ["x", "openai/", "nope/x"])
def test_a_model_that_is_none_leaves_no_folder(tmp_path: Path, model: str) -> None:
    done = cli.call(tmp_path, "demo", "d", "--model", model)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert not (tmp_path / "d").exists()


def test_no_key_leaves_no_folder(tmp_path: Path) -> None:
    done = cli.call(tmp_path, "demo", "d", "--model", "openai/sim")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("skillgit: error: openai/sim: OPENAI_API_KEY is not set; ")
    assert not (tmp_path / "d").exists()
