"""The slow update and the meta memory: what their keys under `optimizer:` and `evaluation:` do to a run.
docs/skillopt.md names these tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from support import repos, training
from support.scripted import PAIR, Scripted, first, patch, skill
from support.server import Call, error
from support.training import BEST_REF, BRANCH, Yard
from support.world import TopicWorld

from skillgit.errors import ModelError
from skillgit.train.events import StageStarted

MakeYard = Callable[..., Yard]
START, END = "<!-- SLOW_UPDATE_START -->", "<!-- SLOW_UPDATE_END -->"
SLOW = "use_slow_update: true, lr_scheduler: constant, learning_rate: 4"
CLOSED = ("slow-update", "none")
META = "use_meta_skill: true, lr_scheduler: constant, learning_rate: 4"


class Course(Scripted):
    """Eight topics. The first step learns two of them; the second one unlearns the first and learns two others, and so
    on: each epoch has something that regressed, improved, stayed right and stayed wrong."""

    def __init__(self, **replies: Any) -> None:
        super().__init__(TopicWorld(8, 1), **{"failures": self.lesson, **replies})
        self.topics = list(self.world.codes)

    def lesson(self, call: Call) -> Any:
        shown = skill(call)
        missing = [topic for topic in self.topics if f"- {topic}" not in shown]
        edits = patch(*(self.world.rule(topic) for topic in missing[:2]))["edits"]
        old = self.world.rule(self.topics[0])
        if old in shown:
            edits.append({"op": "replace", "target": old, "content": f"- {self.topics[0]}: gone"})
        return {"reasoning": "They fail.", "edits": edits}


def start(yard: MakeYard, models: Scripted, optimizer: str, *, epochs: int = 2, evaluation: str = "{}") -> Yard:
    config = training.configuration(
        train=f"{{num_epochs: {epochs}, batch_size: 16}}",
        gradient="{minibatch_size: 32, failure_only: true}",
        optimizer=f"{{{optimizer}}}",
        evaluation=evaluation,
    )
    return yard(models.world, responder=models, config=config)


def trailer(here: Yard, rev: str, key: str) -> str:
    return str(training.trailer(here.root, rev, key))


def solved(models: Scripted, document: str) -> int:
    """Val tasks that a document solves."""
    rows = models.world.tasks["val"]
    return sum(models.world.target(document, row["input"]) == row["answer"] for row in rows)


async def test_use_slow_update(yard: MakeYard) -> None:
    """From the second epoch on guidance is asked for; one that helps is accepted, as a commit of its own kind."""
    models = Course()
    models.replies["guidance"] = lambda _: {"guidance": models.world.rule(models.topics[7])}
    here = start(yard, models, SLOW)
    await here.train()
    assert [(s.kind, s.epoch, s.decision) for s in here.steps] == [
        ("baseline", 1, "baseline"),
        ("step", 1, "accept-best"),
        ("step", 2, "accept-best"),
        ("slow-update", 2, "accept-best"),
    ]
    assert models.asked == ["failures", "failures", "guidance"]
    assert trailer(here, BRANCH, "Skill-Kind") == "slow-update"
    assert trailer(here, BRANCH, "Skill-Edit") == "1/1 guidance"
    assert trailer(here, BRANCH, "Skill-Score") == f"{solved(models, here.text(BRANCH)) / 16:.6f}"
    assert here.text(BRANCH).endswith(f"{START}\n{models.world.rule(models.topics[7])}\n{END}\n")
    assert here.refs(BEST_REF)[BEST_REF] == here.git("rev-parse", BRANCH)
    # The epoch's tag comes after it.
    tag = next(ref for ref in here.refs("refs/tags/") if ref.endswith("epoch-02"))
    assert here.git("rev-parse", f"{tag}^{{commit}}") == here.git("rev-parse", BRANCH)
    repos.fsck(here.root)


async def test_without_slow_update_nothing_is_compared(yard: MakeYard) -> None:
    models = Course()
    here = start(yard, models, "use_slow_update: false, lr_scheduler: constant")
    await here.train()
    assert [step.kind for step in here.steps] == ["baseline", "step", "step"]
    assert models.asked == ["failures", "failures"]
    assert not any(isinstance(e, StageStarted) and e.stage == "compare" for e in here.watcher.events)


async def test_a_gated_slow_update_that_wins_nothing_is_rejected(yard: MakeYard) -> None:
    models = Course()
    here = start(yard, models, SLOW)
    await here.train()
    step, slow = here.steps[2], here.steps[3]
    assert (slow.kind, slow.decision) == ("slow-update", "reject")
    run = training.journal(here.root).info.run
    assert here.refs("refs/skillgit/rejected/") == {f"refs/skillgit/rejected/topics/{run}/00002-02": slow.commits[0]}
    assert trailer(here, slow.commits[0], "Skill-Kind") == "slow-update"
    assert "Say the code alone." in here.text(slow.commits[0])
    assert here.git("rev-parse", BRANCH) == step.commits[-1]
    assert START not in here.text(BRANCH)


@pytest.mark.parametrize("evaluation", ["{slow_update_gate_with_selection: false}", "{use_gate: false}"])
async def test_slow_update_gate_with_selection(yard: MakeYard, evaluation: str) -> None:
    """Without it the guidance is forced, and said to be; it is measured, and the next bar is its own score."""
    models = Course()
    harm = f"- {models.topics[1]}: gone"
    models.replies["guidance"] = lambda _: {"guidance": harm}
    here = start(yard, models, SLOW, epochs=3, evaluation=evaluation)
    await here.train()
    step, slow, after = here.steps[2], here.steps[3], here.steps[4]
    assert (slow.kind, slow.decision) == ("slow-update", "forced")
    commit = slow.commits[0]
    assert trailer(here, commit, "Skill-Kind") == "slow-update"
    assert trailer(here, commit, "Skill-Decision") == "forced"
    # Measured wholly, though it is worse.
    right = solved(models, here.text(commit))
    assert right == solved(models, here.text(step.commits[-1])) - 2
    assert (len(slow.scores), slow.score, slow.maximum) == (16, exact(right, 16), None)
    assert trailer(here, commit, "Skill-Score") == f"{right / 16:.6f}"
    assert trailer(here, commit, "Skill-Blob") == here.git("rev-parse", f"{commit}:{training.DOCUMENT}")
    # The next candidate has to beat that score, and best is still what measured best.
    assert (after.document_before, after.before) == (slow.document, slow.score)
    best = max((s for s in here.steps if s.score), key=lambda s: solved(models, here.git("cat-file", "-p", s.document)))
    assert here.refs(BEST_REF)[BEST_REF] == best.commits[-1]


def exact(number: int, whole: int) -> str:
    share = Fraction(number, whole)
    return f"{share.numerator}/{share.denominator}"


@pytest.mark.parametrize("samples", [3, 20])
async def test_slow_update_samples(yard: MakeYard, samples: int) -> None:
    """The same tasks under both documents, at most so many; there are sixteen."""
    models = Course()
    here = start(yard, models, f"{SLOW}, slow_update_samples: {samples}")
    await here.train()
    (call,) = models.of("guidance")
    assert len(PAIR.findall(first(call))) == min(samples, 16)


@pytest.mark.parametrize(
    ("policy", "changes"),
    [
        ("mixed", {"regressed": 2, "improved": 4, "stable": 2, "persistent": 8}),
        ("changed", {"regressed": 2, "improved": 4}),
        ("unchanged", {"stable": 2, "persistent": 8}),
    ],
)
async def test_longitudinal_pair_policy(yard: MakeYard, policy: str, changes: dict[str, int]) -> None:
    models = Course()
    here = start(yard, models, f"{SLOW}, longitudinal_pair_policy: {policy}")
    await here.train()
    (call,) = models.of("guidance")
    assert Counter(change for _, change in PAIR.findall(first(call))) == changes


async def test_an_epoch_that_changed_nothing_is_not_looked_back_at(yard: MakeYard) -> None:
    models = Course(failures=lambda _: patch())
    here = start(yard, models, f"{SLOW}, use_meta_skill: true", epochs=3)
    await here.train()
    assert set(models.asked) == {"failures"}
    assert [ref[-2:] for ref in here.refs("refs/tags/")] == ["01", "02", "03"]


async def test_use_meta_skill(yard: MakeYard) -> None:
    """The notes reach the next epoch's prompts, and those of a resumed run and of the next run; the document and the
    target never see them."""
    models = Course(notes=lambda _: {"notes": "One line for each topic did it."})
    here = start(yard, models, META, epochs=4)
    models.replies["failures"] = breaking(models, after=2)
    with pytest.raises(ModelError):
        await here.train()
    assert models.asked == ["failures", "failures", "notes", "failures"]
    models.replies["failures"] = models.lesson
    await here.train()
    await here.train()
    prompts = [first(call) for call in models.of("failures")]
    assert ["One line for each topic did it." in prompt for prompt in prompts] == [n > 1 for n in range(len(prompts))]
    assert len(prompts) > 6
    assert all("One line" not in call.system for call in models.of("target"))
    # An entry of the journal closes each epoch, though no guidance was asked for.
    kinds = [(step.kind, step.decision) for step in training.journals(here.root)[0]]
    assert kinds[:4] == [("baseline", "baseline"), ("step", "accept-best"), ("step", "accept-best"), CLOSED]
    assert START not in here.text(BRANCH)
    # The notes of the epoch before are what the next ones are made from.
    assert "(none yet)" in first(models.of("notes")[0])
    assert all("One line for each topic did it." in first(call) for call in models.of("notes")[1:])


async def test_notes_of_an_earlier_run_survive_a_resume(yard: MakeYard) -> None:
    models = Course(notes=lambda _: {"notes": "One line for each topic did it."})
    here = start(yard, models, META)
    await here.train()
    begun = len(models.of("failures"))
    models.replies["failures"] = breaking(models, after=begun + 1)
    with pytest.raises(ModelError):
        await here.train()
    models.replies["failures"] = models.lesson
    await here.train()
    prompts = [first(call) for call in models.of("failures")[begun:]]
    assert len(prompts) == 3
    assert all("One line for each topic did it." in prompt for prompt in prompts)


async def test_without_meta_skill_there_are_no_notes(yard: MakeYard) -> None:
    models = Course()
    here = start(yard, models, SLOW, epochs=3)
    await here.train()
    assert "notes" not in models.asked
    assert all("Notes from earlier epochs" not in first(call) for call in models.of("failures", "guidance"))


def breaking(models: Course, *, after: int) -> Callable[[Call], Any]:
    """Lessons, until the endpoint refuses the reflection after so many."""

    def respond(call: Call) -> Any:
        asked = len(models.of("failures"))
        return models.lesson(call) if asked <= after else error(401, "no such key")

    return respond
