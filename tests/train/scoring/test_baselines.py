"""Baselines: made of one pass over train, measured, gated, and remembered without moving a branch."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support import repos, training
from support.baselines import CONFIG, FIRST, LAST, MEMORY, SECOND, START, THIRD, WORLD, Rewriter, notes, without_last
from support.server import Answer, Call, error
from support.training import BEST_REF, BRANCH, DOCUMENT, SKILL, Yard, trailer

from skillgit.errors import ConfigError, DocumentError, MeasurementError, ModelError, RepositoryError
from skillgit.store.notes import add_note
from skillgit.train.scoring.baseline_notes import KINDS, Baseline, Kind, find, known, remember
from skillgit.train.scoring.baselines import Report, make, start

MakeYard = Callable[..., Yard]


@pytest.fixture
def rewriter() -> Rewriter:
    return Rewriter(WORLD.rule(FIRST), WORLD.rule(SECOND))


@pytest.fixture
def here(yard: MakeYard, rewriter: Rewriter) -> Yard:
    made = yard(WORLD, responder=rewriter, config=CONFIG, document=START)
    without_last(made.root)
    return made


async def made(
    here: Yard,
    *overrides: str,
    kinds: Sequence[Kind] = KINDS,
    test: bool = False,
    rev: str | None = None,
    optimizer: bool = True,
) -> Report:
    """What `skillgit baseline topics` does."""
    async with training.session(here.root, optimizer=optimizer, overrides=overrides) as session:
        commit, base = start(session, rev)

        def keep(found: Baseline) -> None:
            remember(session.repo, base.blob, [found])

        return await make(session, commit, base, kinds, test=test, keep=keep)


async def shown(here: Yard, *overrides: str) -> tuple[Baseline, ...]:
    async with training.session(here.root, overrides=overrides) as session:
        return find(session.repo, SKILL, session.settings)


def text_of(here: Yard, found: Baseline) -> str:
    return here.git("cat-file", "blob", found.document) + "\n"


async def test_both_against_the_document_that_is_there(here: Yard, rewriter: Rewriter) -> None:
    before = {ref: oid for ref, oid in here.refs().items() if ref != MEMORY}
    report = await made(here)
    # The document knows one topic of four; train has two more; the rewrite brings one of them.
    assert (report.before.hard, report.before.blob) == (Fraction(2, 8), here.git("rev-parse", f"main:{DOCUMENT}"))
    assert (report.attempts, report.failed, report.errors) == (6, 4, 0)
    examples, rewritten = report.baselines
    assert (examples.kind, examples.hard, examples.soft, examples.tasks) == (
        "examples",
        Fraction(6, 8),
        Fraction(6, 8),
        8,
    )
    assert (rewritten.kind, rewritten.hard, rewritten.tasks) == ("one_shot", Fraction(4, 8), 8)
    lines = re.findall(r"^- (.*) -> (.*)$", text_of(here, examples), re.MULTILINE)
    assert sorted(lines) == sorted(
        (row["input"], row["answer"])
        for row in WORLD.tasks["train"]
        if any(topic in row["input"] for topic in (SECOND, THIRD))
    )
    assert (examples.edits, rewritten.edits) == (4, 1)
    assert text_of(here, examples).startswith(START)
    assert text_of(here, rewritten) == START + WORLD.rule(SECOND) + "\n"
    for found, gained in ((examples, 4), (rewritten, 2)):
        body = text_of(here, found).split("---\n", 2)[2].lstrip("\n")
        assert abs(found.tokens - len(body) / 4) <= 1
        assert (found.decision, found.before, found.gate) == ("accept", Fraction(1, 4), "strict hard n=8 repeats=1")
        assert found.reason.startswith(f"+{gained / 8:.4f} on 8 val tasks, better than the incumbent ({gained} better:")
    assert (examples.optimizer, rewritten.optimizer) == ("", "anthropic/sim")
    assert [call.protocol for call in here.server.calls].count("anthropic") == 1
    assert "These are 4 of 4 failed attempts, of 6 attempts in all:" in rewriter.prompts[0]
    assert here.server.count == 6 + 8 + 8 + 1 + 8
    assert {ref: oid for ref, oid in here.refs().items() if ref != MEMORY} == before
    repos.fsck(here.root)


async def test_a_second_call_asks_no_model_and_adds_no_note(here: Yard) -> None:
    first = await made(here)
    count, told = here.server.count, notes(here.root)
    assert await made(here) == first
    assert (here.server.count, notes(here.root)) == (count, told)
    tested = await made(here, test=True)
    assert here.server.count == count + 2 * 8
    assert [b.test and (b.test.hard, b.test.tasks) for b in tested.baselines] == [
        (Fraction(6, 8), 8),
        (Fraction(4, 8), 8),
    ]
    assert len(notes(here.root)) == 4
    await made(here)  # says nothing that the note with the test score does not
    assert len(notes(here.root)) == 4
    assert await shown(here) == tested.baselines


async def test_the_notes_as_git_shows_them(here: Yard) -> None:
    examples, rewritten = (await made(here)).baselines
    first, second = notes(here.root)
    assert first == {
        "kind": "baseline",
        "baseline": "examples",
        "val": examples.val,
        "target": "openai/sim",
        "settings": first["settings"],
        "hard": "3/4",
        "soft": "3/4",
        "tasks": 8,
        "errors": 0,
        "decision": "accept",
        "reason": examples.reason,
        "gate": "strict hard n=8 repeats=1",
        "before": "1/4",
        "document": examples.document,
        "tokens": examples.tokens,
        "edits": 4,
        "at": first["at"],
    }
    assert (second["baseline"], second["optimizer"], second["hard"]) == ("one_shot", "anthropic/sim", "1/2")
    assert second["val"] == rewritten.val == examples.val


async def test_a_rewrite_that_is_no_better_is_rejected(here: Yard, rewriter: Rewriter) -> None:
    rewriter.reply = Rewriter(WORLD.rule(LAST)).reply  # gains a topic, loses one
    (found,) = (await made(here, kinds=["one_shot"])).baselines
    assert (found.hard, found.decision) == (Fraction(1, 4), "reject")
    assert found.reason.startswith("+0.0000 on 8 val tasks, not better than the incumbent (2 better: ")
    assert "2 worse: " in found.reason


async def test_the_skills_own_gate_metric_and_repeats(here: Yard) -> None:
    chosen = ("evaluation.gate_mode=margin", "evaluation.epsilon=0.4", "evaluation.repeats=2")
    examples, rewritten = (await made(here, *chosen)).baselines
    assert (examples.decision, rewritten.decision) == ("accept", "reject")  # leads of 0.5 and 0.25
    assert examples.gate == "margin hard epsilon=0.4 n=8 repeats=2"
    assert here.server.count == 6 + 1 + 3 * 16
    assert (await made(here)).baselines[0].val != examples.val


async def test_what_is_known_holds_for_val_and_target_of_the_newest_run(here: Yard) -> None:
    assert await shown(here) == ()
    first = (await made(here)).baselines
    assert await shown(here) == first
    await here.train()
    assert await shown(here) == first
    await here.train("evaluation.repeats=2", fresh=True)
    assert await shown(here) == ()
    assert {found.empty for found in (await made(here, "evaluation.repeats=2")).baselines} == {True}
    assert await shown(here) == ()  # nothing failed with what that run began with
    again = (await made(here, "evaluation.repeats=2", rev="main")).baselines
    assert await shown(here) == again
    target = "models.target={model: openai/sim, temperature: 0.9}"
    await here.train("evaluation.repeats=2", target)
    assert await shown(here) == ()


async def test_it_starts_from_what_the_newest_run_began_with(here: Yard) -> None:
    base = here.git("rev-parse", f"main:{DOCUMENT}")
    await here.train("gradient.proposer=examples")
    repos.commit(here.root, {DOCUMENT: WORLD.perfect_document()}, "Better on main")
    count = here.server.count
    report = await made(here)
    assert report.before.blob == base
    # The run has attempted all train tasks and measured the base, and the very same examples.
    assert here.server.count == count + 1 + 8
    other = await made(here, rev="main", kinds=["examples"])
    assert (other.before.hard, other.failed) == (1, 0)
    assert (other.baselines[0].decision, other.baselines[0].hard) == ("none", 1)
    assert other.baselines[0].reason == "nothing failed in train: the base document has it all"
    assert other.baselines[0].document == other.before.blob
    assert await shown(here) == report.baselines  # the newest run's document comes first


async def test_a_run_without_steps_is_no_training(here: Yard) -> None:
    """`train` once more on a trained skill begins with the trained document, and ends at once."""
    base = here.git("rev-parse", f"main:{DOCUMENT}")
    repos.commit(here.root, {f"envs/topics/{s}.jsonl": known_rows(s) for s in ("train", "val")}, "Three topics")
    first = await here.train("train.num_epochs=4")
    second = await here.train("train.num_epochs=4")
    assert (first.after, first.steps > 0, second.run != first.run, second.steps) == (1, True, True, 0)
    # A baseline of the trained document, as it was made from there before, does not hide the right one.
    trained = await made(here, rev=BRANCH)
    assert {(found.decision, found.hard) for found in trained.baselines} == {("none", 1)}
    assert await shown(here) == ()
    report = await made(here)
    assert (report.before.blob, report.failed) == (base, 4)
    assert [(found.kind, found.decision) for found in report.baselines] == [
        ("examples", "accept"),
        ("one_shot", "accept"),
    ]
    assert await shown(here) == report.baselines


def known_rows(split: str) -> str:
    """A split's tasks without the last topic's."""
    return "".join(json.dumps(row) + "\n" for row in WORLD.tasks[split] if LAST not in row["input"])


async def test_a_journal_that_cannot_be_read_hides_nothing_else(here: Yard) -> None:
    await here.train()
    here.git("update-ref", f"refs/skillgit/runs/{SKILL}/{'0' * 26}", here.git("rev-parse", "main"))
    found = (await made(here, kinds=["examples"])).baselines
    assert await shown(here) == found  # with one kind missing, every run is looked at


@pytest.mark.parametrize("kinds", [["examples"], ["one_shot"]])
async def test_nothing_failed(yard: MakeYard, kinds: list[Kind]) -> None:
    here = yard(WORLD, config=CONFIG, document=WORLD.perfect_document())
    (found,) = (await made(here, kinds=kinds)).baselines
    assert (found.decision, found.hard, found.edits) == ("none", 1, 0)
    assert here.server.count == 16
    assert len(notes(here.root)) == 1
    await made(here, kinds=kinds)
    assert len(notes(here.root)) == 1
    assert await shown(here) == ()  # it would read as one pass that equals a training


async def test_no_answers_are_shown(here: Yard) -> None:
    path = here.root / "envs/topics/env.yaml"
    path.write_text(path.read_text().replace("reveal: answer", "reveal: nothing"))
    with pytest.raises(ConfigError, match=r"^envs/topics: the environment shows no answers, so examples cannot be"):
        await made(here, kinds=["examples"])
    assert here.server.count == 6
    report = await made(here)
    (found,) = report.baselines
    assert (found.kind, found.hard) == ("one_shot", Fraction(1, 2))
    assert report.problem is not None
    assert (report.problem[0], type(report.problem[1])) == ("examples", ConfigError)
    assert await shown(here) == (found,)


async def test_no_optimizer(here: Yard) -> None:
    with pytest.raises(ConfigError, match=r"needs an optimizer model; set models\.optimizer"):
        await made(here, optimizer=False)
    assert here.server.count == 0
    (found,) = (await made(here, kinds=["examples"], optimizer=False)).baselines
    assert found.hard == Fraction(3, 4)


async def test_an_optimizer_that_gives_nothing_usable(here: Yard, rewriter: Rewriter) -> None:
    rewriter.reply = "no"
    with pytest.raises(ModelError, match=r"^anthropic/sim gave no usable rewrite: "):
        await made(here, kinds=["one_shot"])
    assert len(rewriter.prompts) == 2  # once more, firmer
    assert here.refs(MEMORY) == {}
    for kinds in (("examples", "one_shot"), ("one_shot", "examples")):
        report = await made(here, kinds=kinds)
        assert [found.kind for found in report.baselines] == ["examples"]
        assert report.problem is not None
        assert (report.problem[0], type(report.problem[1])) == ("one_shot", ModelError)
        assert await shown(here) == report.baselines


async def test_one_that_cannot_be_measured_does_not_take_the_other_along(yard: MakeYard) -> None:
    """The target breaks on what the rewrite says."""
    rewriter = Rewriter(WORLD.rule(FIRST), WORLD.rule(SECOND), "Be brief.")

    def respond(call: Call) -> Answer:
        return error(400, "no") if call.protocol == "openai" and "Be brief." in call.system else rewriter(call)

    here = yard(WORLD, responder=respond, config=CONFIG, document=START)
    report = await made(here, kinds=["one_shot", "examples"])
    assert [found.kind for found in report.baselines] == ["examples"]
    assert report.problem is not None
    assert str(report.problem[1]).startswith("the first 8 attempts all failed; the last: openai/sim: 400")


async def test_a_rewrite_keeps_to_the_length_budget_and_examples_do_not(here: Yard, rewriter: Rewriter) -> None:
    rewriter.reply = Rewriter(*WORLD.codes, "a line that is much too long " * 20).reply
    for _ in range(2):  # the second one finds the reply in the cache, and says the same of it
        with pytest.raises(ModelError, match=r"above optimizer\.max_tokens of 40"):
            await made(here, "optimizer.max_tokens=40", kinds=["one_shot"])
    assert len(rewriter.prompts) == 2
    (found,) = (await made(here, "optimizer.max_tokens=40", kinds=["examples"])).baselines
    assert (found.edits, found.tokens > 40) == (4, True)


async def test_broken_attempts(yard: MakeYard) -> None:
    inputs = {row["input"] for row in WORLD.tasks["val"][:1]} | {row["input"] for row in WORLD.tasks["train"][:1]}

    def respond(call: Call) -> Answer:
        return error(400, "no") if call.user in inputs else WORLD(call)

    here = yard(WORLD, responder=respond, config=CONFIG, document=START)
    with pytest.raises(MeasurementError, match="1 of 8 attempts failed"):
        await made(here, kinds=["examples"])
    report = await made(here, "evaluation.min_coverage=0.5", kinds=["examples"])
    assert (report.errors, report.baselines[0].errors, report.baselines[0].tasks) == (1, 1, 8)
    assert report.baselines[0].gate == "strict hard n=7 missing=1 repeats=1"


async def test_no_such_revision_and_no_document(here: Yard) -> None:
    with pytest.raises(RepositoryError, match="nowhere: no such revision"):
        await made(here, rev="nowhere")
    repos.commit(here.root, {"other": "x"}, "Other")
    here.git("rm", "-q", DOCUMENT)
    here.git("commit", "-qm", "Gone")
    with pytest.raises(DocumentError, match=f"{DOCUMENT} at "):
        await made(here)
    assert here.server.count == 0


async def test_strange_notes_are_passed_over(here: Yard) -> None:
    found = (await made(here, kinds=["examples"])).baselines[0]
    (fact,) = notes(here.root)
    async with training.session(here.root) as session:
        blob = here.git("rev-parse", f"main:{DOCUMENT}")
        wrong: list[dict[str, Any]] = [
            {**fact, "kind": "score"},
            {**fact, "baseline": "luck"},
            {**fact, "hard": "3/2"},
            {**fact, "hard": "1/0"},
            {**fact, "tasks": 0},
            {**fact, "settings": None},
            {**fact, "test": {"hard": "1/2"}},
            {**fact, "test": "good"},
            {key: value for key, value in fact.items() if key != "tokens"},
        ]
        for line in wrong:
            add_note(session.repo, blob, line)
        assert known(session.repo, [blob], None, None) == (found,)
        assert known(session.repo, ["0" * 40, blob], found.val, found.target) == (found,)
        assert known(session.repo, [blob], "sha256:other", None) == ()
        newer = replace(found, tokens=1)
        remember(session.repo, blob, [newer])
        assert known(session.repo, [blob], None, None) == (newer,)


async def test_training_with_one_shot_is_one_gated_rewrite(here: Yard, rewriter: Rewriter) -> None:
    """The baseline and the run that `train.one_shot` makes are the same document."""
    outcome = await here.train("train.one_shot=true", "train.num_epochs=3")
    assert (outcome.steps, outcome.accepted, outcome.after) == (1, 1, Fraction(1, 2))
    assert [step.decision for step in here.steps] == ["baseline", "accept-best"]
    assert len(rewriter.prompts) == 1
    assert here.git("rev-list", "--count", f"main..{BRANCH}") == "1"
    assert trailer(here.root, BRANCH, "Skill-Edit") == "1/1 rewrite"
    assert trailer(here.root, BRANCH, "Skill-Score") == "0.500000"
    (found,) = (await made(here, kinds=["one_shot"])).baselines
    assert found.document == here.git("rev-parse", f"{BRANCH}:{DOCUMENT}")
    assert here.refs(BEST_REF) == {BEST_REF: here.refs(BRANCH)[BRANCH]}


async def test_training_with_one_shot_may_be_rejected(here: Yard, rewriter: Rewriter) -> None:
    rewriter.reply = Rewriter(WORLD.rule(LAST)).reply
    outcome = await here.train("train.one_shot=true")
    assert (outcome.steps, outcome.accepted, outcome.rejected, outcome.after) == (1, 0, 1, Fraction(1, 4))
    (ref,) = here.refs("refs/skillgit/rejected/")
    assert trailer(here.root, ref, "Skill-Edit") == "1/1 rewrite"


@pytest.mark.parametrize(("proposer", "calls"), [("examples", 0), ("both", 2)])
async def test_training_with_examples(here: Yard, proposer: str, calls: int) -> None:
    """Three edits fit: all of them examples, or the model's two rules first, and one example for the rest."""
    await here.train(f"gradient.proposer={proposer}", "optimizer.learning_rate=3", "optimizer.lr_scheduler=constant")
    optimizer = [call for call in here.server.calls if call.protocol == "anthropic"]
    assert len(optimizer) == calls
    (step,) = [step for step in here.steps if step.kind == "step"]
    contents = [edit["content"] for edit in step.edits]
    assert len(contents) == 3
    assert sum(" -> " in content for content in contents) == (3 if proposer == "examples" else 1)
    assert step.decision == "accept-best"
