"""Where training starts: from the base, the remote, the tip or best; resumed, or given up; refused before any call."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support import repos, training
from support.server import Answer, Call
from support.training import BEST_REF, BRANCH, DOCUMENT, Yard
from support.world import SEED_DOCUMENT, Kinds, TopicWorld

from skillgit.errors import ConfigError, DocumentError, LockedError, RefusedError, RepositoryError
from skillgit.store.locks import SkillLock
from skillgit.store.repository import Repository

MakeYard = Callable[..., Yard]
SHORT = training.configuration(train="{num_epochs: 1, batch_size: 4}")
RIGHT, WRONG = Kinds(100, 0), Kinds(0, 100)


class Stopping:
    """A world that fails all calls from the n-th on, until it is mended."""

    def __init__(self, inner: TopicWorld, after: int) -> None:
        self.inner, self.after = inner, after

    def __call__(self, call: Call) -> Answer:
        return self.inner(call) if call.index < self.after else Answer(status=401, body=b"{}")


async def test_from_the_base(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1, kinds=WRONG), config=SHORT)
    base = here.git("rev-parse", "main")
    await here.train()
    assert here.refs(BRANCH)[BRANCH] == base  # no commit of its own
    journal = training.journal(here.root)
    assert journal.info.base == base
    assert journal.info.total_steps == 2
    assert journal.info.settings["steps_per_epoch"] == 2


async def test_head_is_the_base_where_none_is_set(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1, kinds=RIGHT), config=training.configuration(into=None))
    here.git("checkout", "-q", "--detach")
    assert (await here.train("train.num_epochs=1")).improved


async def test_a_work_tree_copy_that_differs_is_not_read(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1, kinds=RIGHT), config=SHORT)
    (here.root / DOCUMENT).write_text("# Not committed\n")
    await here.train()
    assert "Not committed" not in here.git("log", "-p", "skill/topics")
    assert (here.root / DOCUMENT).read_text() == "# Not committed\n"


async def test_an_unfinished_run_goes_on(yard: MakeYard) -> None:
    inner = TopicWorld(4, 1, kinds=RIGHT)
    stopping = Stopping(inner, 8 + 4 + 1 + 8 + 2)  # in the second step's batch
    here = yard(inner, responder=stopping, config=SHORT)
    with pytest.raises(Exception, match="401"):
        await here.train()
    first = training.journal(here.root)
    assert [step.decision for step in here.steps] == ["baseline", "accept-best"]
    stopping.after = 10**9
    outcome = await here.train()
    assert outcome.run == first.info.run
    assert [step.step for step in here.steps] == [0, 1, 2]
    assert any(
        "goes" in type(event).__name__ or getattr(event, "resumed_at", None) == 1 for event in here.watcher.events
    )


async def test_a_resumed_run_keeps_its_settings(yard: MakeYard) -> None:
    inner = TopicWorld(4, 1, kinds=RIGHT)
    stopping = Stopping(inner, 8 + 4 + 1 + 8 + 2)
    here = yard(inner, responder=stopping, config=SHORT)
    with pytest.raises(Exception, match="401"):
        await here.train()
    stopping.after = 10**9
    # Typed on the command line, it would be ignored: that is refused, by key.
    asked = here.server.count
    with pytest.raises(ConfigError, match=r"--set train\.num_epochs=7: the unfinished run began with 1") as caught:
        await here.train("train.num_epochs=7")
    assert "--fresh" in str(caught.value)
    assert here.server.count == asked
    path = here.root / "skillgit.yaml"
    text = (
        path.read_text().replace("num_epochs: 1", "num_epochs: 7").replace("{use_meta", "{learning_rate: 1, use_meta")
    )
    path.write_text(text)
    await here.train("train.batch_size=4")  # what it began with may be said again
    assert len(here.steps) == 3
    assert here.steps[2].learning_rate == 2
    (note,) = [text for text in here.watcher.notes if "keeps the settings" in text]
    assert "optimizer.learning_rate is 4, train.num_epochs is 1" in note
    assert "--fresh" in note


async def test_fresh_gives_the_run_up_and_never_rewinds(yard: MakeYard) -> None:
    inner = TopicWorld(4, 1, kinds=RIGHT)
    stopping = Stopping(inner, 8 + 4 + 1 + 8 + 2)
    here = yard(inner, responder=stopping, config=SHORT)
    with pytest.raises(Exception, match="401"):
        await here.train()
    tip = here.refs(BRANCH)[BRANCH]
    stopping.after = 10**9
    await here.train(fresh=True)
    given_up, new = training.journals(here.root)
    assert (given_up[-1].kind, given_up[-1].reason) == ("end", "given up with --fresh")
    assert [record.kind for record in new] == ["baseline", "step", "step"]
    assert new[0].document == here.git("rev-parse", f"{tip}:{DOCUMENT}")
    assert here.git("merge-base", tip, BRANCH) == tip
    assert new[0].cost["calls"] == 0  # the journal knew its scores
    # A third training has no unfinished run to give up.
    await here.train(fresh=True)
    assert len(training.journals(here.root)) == 3


async def test_a_finished_run_is_followed_by_one_from_the_tip(yard: MakeYard) -> None:
    here = yard(TopicWorld(8, 1, kinds=RIGHT), config=training.configuration(train="{num_epochs: 1, batch_size: 16}"))
    first = await here.train()
    tip = here.refs(BRANCH)[BRANCH]
    assert training.journal(here.root).state.status == "finished"
    second = await here.train()
    assert second.run > first.run
    assert second.before == first.after
    assert here.git("rev-list", "--first-parent", f"{tip}..{BRANCH}").splitlines()[::-1] == here.steps[1].commits


async def test_where_best_has_another_document_it_is_brought_back(yard: MakeYard) -> None:
    """A person's worse document ended the run as the incumbent."""
    inner = TopicWorld(8, 1, kinds=RIGHT)
    here = yard(inner, config=training.configuration(train="{num_epochs: 1, batch_size: 16}"))
    await here.train()
    best = here.refs(BEST_REF)[BEST_REF]
    here.commit_on(BRANCH, {DOCUMENT: SEED_DOCUMENT + "\nWorse.\n"})
    inner.kinds = WRONG
    await here.train()  # a new run from the tip as it was left by the person
    assert here.steps[0].document == here.git("rev-parse", f"{BRANCH}:{DOCUMENT}")
    assert here.refs(BEST_REF)[BEST_REF] == best
    tip = here.refs(BRANCH)[BRANCH]
    await here.train()
    revert = here.refs(BRANCH)[BRANCH]
    assert here.git("rev-parse", f"{revert}^") == tip
    assert training.trailer(here.root, revert, "Skill-Kind") == "revert"
    assert here.text() == here.text(best)
    assert here.steps[0].cost["calls"] == 0
    assert training.trailer(here.root, revert, "Skill-Run") == training.journal(here.root).info.run


async def test_a_base_that_moved_is_merged_first(yard: MakeYard) -> None:
    here = yard(TopicWorld(8, 1, kinds=RIGHT), config=training.configuration(train="{num_epochs: 1, batch_size: 16}"))
    await here.train()
    tip = here.refs(BRANCH)[BRANCH]
    base = repos.commit(here.root, {"README.md": "hello\n"}, "On main")
    await here.train()
    merge = here.git("rev-parse", f"{here.steps[1].commits[0]}^")
    assert here.git("rev-parse", f"{merge}^1", f"{merge}^2").splitlines() == [tip, base]
    assert training.trailer(here.root, merge, "Skill-Kind") == "merge"
    assert here.git("show", f"{BRANCH}:README.md") == "hello"
    assert here.steps[0].cost["calls"] == 0  # the same document
    repos.fsck(here.root)


async def test_a_base_that_conflicts_is_refused_before_any_call(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1, kinds=RIGHT), config=SHORT)
    await here.train()
    repos.commit(here.root, {DOCUMENT: SEED_DOCUMENT + "\n- another end\n"}, "On main")
    before, asked = here.refs(), here.server.count
    with pytest.raises(RefusedError, match=f"conflict in {DOCUMENT}") as caught:
        await here.train()
    assert caught.value.exit_code == 2
    assert here.refs() == before
    assert here.server.count == asked


@pytest.mark.parametrize("linked", [False, True])
async def test_a_branch_that_is_checked_out_is_refused(yard: MakeYard, tmp_path: Path, linked: bool) -> None:
    here = yard(TopicWorld(4, 1), config=SHORT)
    place = tmp_path / "linked" if linked else here.root
    here.git("branch", "skill/topics")
    if linked:
        here.git("worktree", "add", "-q", str(place), "skill/topics")
    else:
        here.git("checkout", "-q", "skill/topics")
    with pytest.raises(RefusedError, match=f"checked out at {place}"):
        await here.train()
    assert here.server.count == 0
    assert here.refs("refs/skillgit/") == {}


@pytest.mark.parametrize("blocking", ["skill", "skill/topics/mine"])
async def test_a_branch_whose_name_is_in_the_way_is_said_before_any_call(yard: MakeYard, blocking: str) -> None:
    here = yard(TopicWorld(4, 1), config=SHORT)
    here.git("branch", blocking)
    with pytest.raises(RefusedError, match=f"refs/heads/{blocking} is in the way") as caught:
        await here.train()
    assert here.server.count == 0
    (command,) = re.findall(r"git (branch .*)", str(caught.value))
    here.git(*command.split())
    assert (await here.train()).steps


async def test_a_remote_branch_is_where_it_goes_on(yard: MakeYard, tmp_path: Path) -> None:
    """In a fresh clone there is no journal: the fetched branch is measured and trained on."""
    here = yard(TopicWorld(8, 1, kinds=RIGHT), config=training.configuration(train="{num_epochs: 1, batch_size: 16}"))
    await here.train()
    clone = tmp_path / "clone"
    here.git("clone", "-q", str(here.root), str(clone))
    repos.identify(clone)
    await here.train(start=clone)
    assert any("starts from origin/skill/topics" in note for note in here.watcher.notes)
    theirs = repos.refs(clone)
    tip = theirs["refs/remotes/origin/skill/topics"]
    assert repos.git(clone, "merge-base", tip, BRANCH) == tip
    assert theirs[BRANCH] != tip
    (records,) = training.journals(clone)
    assert records[0].document == here.git("rev-parse", f"{tip}:{DOCUMENT}")


async def test_val_tasks_that_grew_are_measured_before_it_goes_on(yard: MakeYard) -> None:
    inner = TopicWorld(4, 1, kinds=RIGHT)
    stopping = Stopping(inner, 8 + 4 + 1 + 8 + 2)
    here = yard(inner, responder=stopping, config=SHORT)
    with pytest.raises(Exception, match="401"):
        await here.train()
    first, asked = training.journal(here.root), here.server.count
    inner.tasks["val"].append({"id": "val-new", "input": "Ticket: the comet came down. Which code?", "answer": "C1"})
    inner.write_env(here.root / "envs/topics")
    stopping.after = 10**9
    await here.train()
    assert [step.kind for step in here.steps] == ["baseline", "step", "remeasure", "step"]
    again = here.steps[2]
    assert again.val_tasks == 9
    assert again.cost["calls"] == 1  # the others are in the cache
    assert training.journal(here.root).state.val != first.state.val
    assert here.steps[3].val_tasks == 9
    assert training.trailer(here.root, here.steps[3].commits[-1], "Skill-Val") == training.journal(here.root).state.val
    assert any("measured anew" in note for note in here.watcher.notes)
    assert here.server.count > asked


async def test_another_target_measures_tip_and_best_anew(yard: MakeYard) -> None:
    """After a finished run, whose best is not the tip."""
    here = yard(TopicWorld(8, 1, kinds=RIGHT), config=training.configuration(train="{num_epochs: 1, batch_size: 16}"))
    await here.train()
    here.commit_on(BRANCH, {DOCUMENT: SEED_DOCUMENT + "\nWorse.\n"})
    config = (here.root / "skillgit.yaml").read_text().replace("target: openai/sim", "target: openai/other")
    (here.root / "skillgit.yaml").write_text(config)
    best = here.refs(BEST_REF)[BEST_REF]
    await here.train()
    asked = [call for call in here.server.calls if call.model == "other"]
    assert here.steps[0].cost["calls"] == 32  # tip and best on 16 val tasks each
    assert len(asked) > 32
    assert here.refs(BEST_REF)[BEST_REF] != here.git("rev-parse", "main")
    assert here.git("merge-base", best, here.refs(BEST_REF)[BEST_REF]) == best


async def test_measured_anew_a_tie_goes_to_the_tip(yard: MakeYard) -> None:
    inner = TopicWorld(8, 1, kinds=RIGHT)
    here = yard(inner, config=training.configuration(train="{num_epochs: 1, batch_size: 16}"))
    await here.train()
    inner.kinds = Kinds(0, 0)
    theirs = here.commit_on(BRANCH, {DOCUMENT: here.text() + "\nJust words.\n"})
    config = (here.root / "skillgit.yaml").read_text().replace("target: openai/sim", "target: openai/other")
    (here.root / "skillgit.yaml").write_text(config)
    await here.train()
    assert here.steps[0].score == "1/2"
    assert here.refs(BEST_REF)[BEST_REF] == theirs


async def test_a_branch_that_was_lost_is_set_back(yard: MakeYard) -> None:
    inner = TopicWorld(4, 1, kinds=RIGHT)
    stopping = Stopping(inner, 8 + 4 + 1 + 8 + 2)
    here = yard(inner, responder=stopping, config=SHORT)
    with pytest.raises(Exception, match="401"):
        await here.train()
    tip = here.refs(BRANCH)[BRANCH]
    here.git("update-ref", "-d", BRANCH)
    stopping.after = 10**9
    await here.train()
    assert any("was gone" in note for note in here.watcher.notes)
    assert here.steps[2].reason == "the branch was gone"
    assert here.git("rev-parse", f"{here.steps[3].commits[0]}^") == tip


async def test_a_base_without_the_document(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1), config=SHORT)
    repos.commit(here.root, {DOCUMENT: None}, "Away")
    with pytest.raises(DocumentError, match=DOCUMENT):
        await here.train()
    assert here.server.count == 0


async def test_an_unborn_base(yard: MakeYard, tmp_path: Path) -> None:
    here = yard(TopicWorld(4, 1), config=SHORT)
    here.git("checkout", "-q", "--orphan", "empty")
    here.git("branch", "-q", "-D", "main")
    with pytest.raises(RepositoryError, match="base branch main has no commit"):
        await here.train()


async def test_another_trainer_at_work_is_named(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1), config=SHORT)
    repo = Repository.open(here.root)
    with SkillLock.acquire(repo, "topics", "train"), pytest.raises(LockedError, match="topics"):
        await here.train()
    assert here.server.count == 0


async def test_a_journal_of_a_newer_version_is_refused(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1), config=SHORT)
    await here.train()
    (ref,) = here.refs("refs/skillgit/runs/")
    newer = here.git("show", f"{ref}:run.json").replace('"format": 1', '"format": 2')
    here.commit_on(ref, {"run.json": newer})
    asked = here.server.count
    with pytest.raises(RefusedError, match="newer skillgit"):
        await here.train()
    assert here.server.count == asked


async def test_a_document_that_no_edit_can_apply_to_is_refused_before_any_call(yard: MakeYard) -> None:
    half = training.SEED_DOCUMENT + "\n<!-- SLOW_UPDATE_START -->\nhalf of a region\n"
    here = yard(TopicWorld(4, 1, kinds=RIGHT), config=SHORT, document=half)
    with pytest.raises(DocumentError, match="no edit can apply"):
        await here.train()
    assert here.server.count == 0
