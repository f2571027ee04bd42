"""Where a skill stands, compared with what git and the journals say."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from support import repos, training
from support.training import BEST, BEST_REF, BRANCH, DOCUMENT, SKILL, Yard
from support.world import SEED_DOCUMENT, TopicWorld

from skillgit.config import parse
from skillgit.store.locks import SkillLock
from skillgit.store.repository import Repository
from skillgit.train.archive import standing
from skillgit.train.archive.history import latest
from skillgit.train.archive.journal import to_files
from skillgit.train.archive.record import tree_of
from skillgit.train.archive.standing import Holder, Status

MakeYard = Callable[..., Yard]
CONFIG = training.configuration(train="{num_epochs: 2, batch_size: 8}")


def status(root: Path) -> Status:
    settings = parse((root / "skillgit.yaml").read_text()).skill(SKILL)
    return standing.status(Repository.open(root), SKILL, settings)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """After two runs with acceptances and rejections."""
    root = tmp_path_factory.mktemp("once") / "repo"
    with training.trained_once(root, training.mixed(), ["train.num_epochs=1"], [], config=CONFIG) as made:
        assert {"accept-best", "reject"} <= {step.decision for step in made.steps}
        yield made


@pytest.fixture
def here(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return training.copied(once, tmp_path / "repo", monkeypatch)


def test_nothing_trained(yard: MakeYard) -> None:
    made = yard(TopicWorld(4, 1), config=CONFIG)
    found = status(made.root)
    assert (found.branch, found.best, found.best_score, found.run, found.running) == (None, None, None, None, False)
    assert (found.base, found.base_commit) == ("main", made.git("rev-parse", "main"))
    assert not found.merged
    assert (found.published, found.unpublished, found.remotes, found.lock) == (None, None, [], None)
    json.dumps(found.to_json())


def test_after_a_run(here: Yard) -> None:
    found, journal = status(here.root), training.journal(here.root)
    assert found.branch == here.refs(BRANCH)[BRANCH]
    assert found.best == here.refs(BEST_REF)[BEST_REF]
    assert found.best_score == Fraction(str(here.steps[-1].best))
    assert (found.run, found.run_step, found.run_steps) == (journal.info.run, 4, 4)
    assert (found.running, found.closing, found.run_reason) == (False, False, "all epochs are done")
    decisions = [step.decision for step in here.steps]
    assert found.accepted == decisions.count("accept-best")
    both = [step.decision for run in training.journals(here.root) for step in run]
    assert found.rejected == both.count("reject") == len(here.refs("refs/skillgit/rejected/"))
    assert (found.merged, found.unmeasured_base, found.unmeasured_commits) == (False, False, 0)
    assert found.to_json()["best_score"] == round(float(Fraction(str(here.steps[-1].best))), 6)


def test_commits_that_nobody_has_measured(here: Yard) -> None:
    tip = here.git("rev-parse", BRANCH)
    here.commit_on(BRANCH, {DOCUMENT: SEED_DOCUMENT}, "One")
    here.commit_on(BRANCH, {"README.md": "x\n"}, "Two")
    assert status(here.root).unmeasured_commits == 2
    found = list(standing.unmeasured(Repository.open(here.root), here.git("rev-parse", BRANCH), tip))
    assert [info.subject for info in found] == ["Two", "One"]
    # A branch that somebody set back has nothing new on it.
    here.git("update-ref", BRANCH, f"{tip}~1")
    assert status(here.root).unmeasured_commits == 0


@pytest.mark.parametrize("into", ["main", None])
def test_the_base(here: Yard, into: str | None) -> None:
    """Without `merge.into` it is the checked-out branch."""
    (here.root / "skillgit.yaml").write_text(training.configuration(into=into))
    best = here.text(BEST_REF)
    repos.commit(here.root, {DOCUMENT: best, BEST: best}, "Merged by hand")
    found = status(here.root)
    assert (found.base, found.merged, found.unmeasured_base) == ("main", True, False)
    repos.commit(here.root, {DOCUMENT: best + "- more\n"}, "Edited")
    assert (status(here.root).merged, status(here.root).unmeasured_base) == (False, True)


def test_a_detached_head(here: Yard) -> None:
    (here.root / "skillgit.yaml").write_text(training.configuration(into=None))
    here.git("checkout", "-q", "--detach")
    assert (status(here.root).base, status(here.root).base_commit) == ("HEAD", here.git("rev-parse", "HEAD"))


def test_remotes_are_compared_with_the_branch(here: Yard, tmp_path: Path) -> None:
    """As `git rev-list --count` says; another skill's branch, and one below it, are no copies of this one."""
    bare, other = repos.make_repo(tmp_path / "bare.git", bare=True), repos.make_repo(tmp_path / "bare2.git", bare=True)
    here.git("remote", "add", "origin", str(bare))
    here.git("remote", "add", "team/eu", str(other))
    here.git("push", "-q", "origin", f"{BRANCH}~2:{BRANCH}", f"{BRANCH}:{BRANCH}-old", f"{BRANCH}:refs/heads/x/skill/y")
    here.git("push", "-q", "team/eu", f"{BRANCH}:{BRANCH}")
    here.git("fetch", "-q", "--all")
    behind = here.git("rev-list", "--count", f"{BRANCH}~2..{BRANCH}")
    found = {f.remote: (f.ref, f.ahead, f.behind) for f in status(here.root).remotes}
    assert found == {
        "origin": (f"refs/remotes/origin/skill/{SKILL}", int(behind), 0),
        "team/eu": (f"refs/remotes/team/eu/skill/{SKILL}", 0, 0),
    }
    here.git("update-ref", BRANCH, f"{BRANCH}~3")
    here.commit_on(BRANCH, {"README.md": "x\n"})
    counts = {f.remote: (f.ahead, f.behind) for f in status(here.root).remotes}
    assert counts == {"origin": (1, 1), "team/eu": (1, 3)}
    here.git("update-ref", "-d", BRANCH)
    assert {f.remote: (f.ahead, f.behind) for f in status(here.root).remotes} == dict.fromkeys(found, (None, None))


def test_what_was_pushed_for_review(here: Yard) -> None:
    here.git("update-ref", f"refs/skillgit/published/{SKILL}", f"{BRANCH}~1")
    found = status(here.root)
    assert (found.published, found.unpublished) == (here.git("rev-parse", f"{BRANCH}~1"), 1)


def test_who_holds_the_lock(here: Yard) -> None:
    repo = Repository.open(here.root)
    with SkillLock.acquire(repo, SKILL, "train"):
        held = standing.holder(repo, SKILL)
        assert held is not None
        assert (held.pid, held.host, held.command, held.alive) == (os.getpid(), socket.gethostname(), "train", True)
        assert status(here.root).to_json()["lock"]["since"] == held.since
    assert standing.holder(repo, SKILL) is None


def test_a_dead_owner_and_one_on_another_machine(here: Yard) -> None:
    """A process that ended with the lock in hand: the kernel let it go, its name is still in the file."""
    code = (
        "import os, sys; from pathlib import Path; from skillgit.store.repository import Repository; "
        "from skillgit.store.locks import SkillLock; "
        f"lock = SkillLock.acquire(Repository.open(Path('.')), {SKILL!r}, 'train'); print(os.getpid(), flush=True); "
        "os._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=here.root, capture_output=True, text=True, check=False)
    repo = Repository.open(here.root)
    held = standing.holder(repo, SKILL)
    assert held is not None
    assert (held.pid, held.alive) == (int(done.stdout), False)
    path = here.root / f".git/skillgit/locks/{SKILL}.lock"
    path.write_text(path.read_text().replace(socket.gethostname(), "elsewhere.invalid"))
    assert standing.holder(repo, SKILL) == Holder(held.pid, "elsewhere.invalid", held.since, "train", None)


def test_the_end_of_an_epoch_that_is_due(here: Yard) -> None:
    """The state between an epoch's last step and its end, as a killed run leaves it."""
    repo = Repository.open(here.root)
    last = latest(repo, SKILL)
    assert last is not None
    state = replace(last.state, status="running", reason="", closing=True)
    tree = tree_of(repo, to_files(last.info, state, last.record, last.scores))
    commit = repo.objects.write_commit(tree, [last.commit], f"skillgit journal: {SKILL} step 4 accept-best\n")
    here.git("update-ref", f"refs/skillgit/runs/{SKILL}/{last.info.run}", commit)
    found = status(here.root)
    assert (found.running, found.closing, found.run_epoch) == (True, True, last.state.epoch)
