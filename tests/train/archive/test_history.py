"""Reading journals: runs in order, steps of a run, patterns of an epoch."""

from __future__ import annotations

from collections.abc import Callable

from support import training
from support.training import SKILL, Yard
from support.world import Kinds, TopicWorld

from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive import history

MakeYard = Callable[..., Yard]
CONFIG = training.configuration(train="{num_epochs: 2, batch_size: 8}")


class Numbered(TopicWorld):
    """Says something else about each set of failures."""

    def propose(self, prompt: str) -> str:
        topics = ", ".join(sorted(self.failing(prompt)))
        return super().propose(prompt).replace("Each topic has a code of its own.", f"They lack: {topics}.")


async def test_runs_and_their_steps(yard: MakeYard) -> None:
    here = yard(training.mixed(), config=CONFIG)
    repo = Repository.open(here.root)
    assert history.runs(repo, SKILL) == []
    assert history.latest(repo, SKILL) is None
    first = await here.train()
    second = await here.train("train.num_epochs=1")
    found = history.runs(repo, SKILL)
    assert [run for run, _ in found] == [first.run, second.run]
    assert [record.step for record in history.records(repo, found[0][1])] == [0, 1, 2, 3, 4]
    latest = history.latest(repo, SKILL)
    assert latest is not None
    assert latest.info.run == second.run
    assert latest.record.step == 2
    pairs = list(history.entries(repo, found[0][1]))
    assert [record.step for _, record in pairs] == [4, 3, 2, 1, 0]
    assert pairs[0][0] == found[0][1]
    assert here.git("rev-parse", f"{pairs[0][0]}^") == pairs[1][0]


async def test_another_skills_journals_are_not_ours(yard: MakeYard) -> None:
    """A name that begins with ours."""
    here = yard(TopicWorld(4, 1), config=CONFIG)
    await here.train()
    (oid,) = here.refs("refs/skillgit/runs/").values()
    here.git("update-ref", "refs/skillgit/runs/topics-two/7zzzzzzzzzzzzzzzzzzzzzzzzz", oid)
    assert len(history.runs(Repository.open(here.root), SKILL)) == 1


async def test_patterns_of_the_epoch(yard: MakeYard) -> None:
    here = yard(Numbered(8, 1, kinds=Kinds(0, 0)), config=CONFIG)
    await here.train()
    repo, run = Repository.open(here.root), training.journal(here.root).info.run
    evidence = SkillRefs(SKILL).evidence(run)
    everything = history.patterns(repo, evidence, 1)
    prompts = [call.user for call in here.server.calls if training.is_reflection(call)]
    last = next(text for text in reversed(prompts) if "These attempts failed:" in text)
    second_epoch = history.patterns(repo, evidence, 3)
    assert len(everything) == 4
    assert second_epoch == everything[2:]
    # The last step was told what the step before it had found, and nothing of the epoch before.
    assert f"<pattern>{everything[2]}</pattern>" in last
    assert last.count("<pattern>") == 1
    assert history.patterns(repo, evidence, 5) == []


async def test_without_evidence_there_are_no_patterns(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1), config=CONFIG)
    evidence = SkillRefs(SKILL).evidence("01k9x0c5v2m8q4t7b3n6r1d9sf")
    assert history.patterns(Repository.open(here.root), evidence, 1) == []
