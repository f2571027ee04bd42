"""What each key under `optimizer:` does to a step; what an epoch's end does is in test_options_epoch_end.py.
docs/skillopt.md names these tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support import repos, training
from support.scripted import Scripted, attempts, first, patch, skill
from support.server import Call
from support.training import BRANCH, Yard
from support.world import SEED_DOCUMENT, TopicWorld

from skillgit.document.length import length
from skillgit.store.locks import SkillLock
from skillgit.train.loop import train
from skillgit.train.spend.budget import Budget, Meter

MakeYard = Callable[..., Yard]
ONE_STEP = "{num_epochs: 1, batch_size: 16}"
LARGE = "{minibatch_size: 32}"


def world() -> TopicWorld:
    return TopicWorld(8, 1)


def start(yard: MakeYard, models: Scripted, optimizer: str, *, train: str = ONE_STEP, gradient: str = LARGE) -> Yard:
    config = training.configuration(train=train, gradient=gradient, optimizer=optimizer)
    return yard(models.world, responder=models, config=config)


def trailers(here: Yard, rev: str, key: str) -> str:
    return training.trailer(here.root, rev, key)


@pytest.mark.parametrize(
    ("scheduler", "rates"),
    [("constant", [8, 8, 8, 8]), ("linear", [6, 5, 4, 2]), ("cosine", [7, 5, 3, 2]), ("autonomous", [1, 1, 1, 1])],
)
async def test_learning_rate_min_learning_rate_and_lr_scheduler(
    yard: MakeYard, scheduler: str, rates: list[int]
) -> None:
    """Over four steps, of which each would like more edits than it may apply: 6.5, 5, 3.5, 2 by the line; 7.1, 5, 2.9,
    2 by the cosine."""
    made = TopicWorld(40, 1, per_topic=(1, 1, 0))
    models = Scripted(made)
    chosen = f"{{learning_rate: 8, min_learning_rate: 2, lr_scheduler: {scheduler}}}"
    here = start(yard, models, chosen, train="{num_epochs: 1, batch_size: 10}")
    await here.train()
    assert [step.learning_rate for step in here.steps[1:]] == rates
    assert [len(step.commits) for step in here.steps[1:]] == rates
    assert models.asked.count("rate") == (4 if scheduler == "autonomous" else 0)
    said = [first(call).rpartition("at most ")[2].split()[0] for call in models.of("failures")]
    assert scheduler == "autonomous" or said == [str(rate) for rate in rates]


@pytest.mark.parametrize(("mode", "asked", "edits"), [("fixed", 0, 4), ("autonomous", 1, 1), ("none", 0, 8)])
async def test_lr_control_mode(yard: MakeYard, mode: str, asked: int, edits: int) -> None:
    """The optimizer proposes eight edits, and says one where it is asked how many."""
    models = Scripted(world(), failures=lambda _: patch(*(world().rule(topic) for topic in world().codes)))
    here = start(yard, models, f"{{lr_scheduler: constant, lr_control_mode: {mode}}}")
    await here.train()
    assert models.asked.count("rate") == asked
    assert len(here.steps[1].commits) == edits
    assert ("at most 16 edits" in first(models.of("failures")[0])) == (mode == "none")


@pytest.mark.parametrize(
    ("mode", "asked", "score"),
    [
        ("patch", ["failures", "failures"], "0.500000"),
        ("rewrite_from_suggestions", ["suggest", "suggest", "rewrite"], "0.500000"),
        ("full_rewrite_minibatch", ["minibatch", "minibatch", "merge_rewrites"], "1.000000"),
    ],
)
async def test_skill_update_mode(yard: MakeYard, mode: str, asked: list[str], score: str) -> None:
    """Four edits of the learning rate, four suggestions, or all there is; a rewrite is one commit."""
    models = Scripted(world())
    here = start(yard, models, f"{{lr_scheduler: constant, skill_update_mode: {mode}}}", gradient="{minibatch_size: 8}")
    await here.train()
    assert [kind for kind in models.asked if kind not in ("select", "merge")] == asked
    assert here.steps[1].decision == "accept-best"
    assert trailers(here, BRANCH, "Skill-Edit") == ("4/4 append" if mode == "patch" else "1/1 rewrite")
    assert trailers(here, BRANCH, "Skill-Score") == score
    assert here.text(BRANCH).startswith(SEED_DOCUMENT.partition("# Tickets")[0])
    repos.fsck(here.root)


@pytest.mark.parametrize("key", ["lr_control_mode", "lr_scheduler"])
@pytest.mark.parametrize(("rate", "codes"), [(3, 3), (1, 1), (0, 0)])
async def test_an_autonomous_rate_of_suggestions(yard: MakeYard, key: str, rate: int, codes: int) -> None:
    """As many suggestions go into the rewrite as the optimizer says; with none there is no rewrite."""
    models = Scripted(world(), rate=lambda _: {"reasoning": "So many.", "learning_rate": rate})
    here = start(yard, models, f"{{skill_update_mode: rewrite_from_suggestions, {key}: autonomous}}")
    await here.train()
    assert models.asked == ["suggest", "rate", *["rewrite"] * (rate > 0)]
    (asked,) = models.of("rate")
    assert first(asked).count("<suggestion ") == 4
    step = here.steps[1]
    assert (step.learning_rate, len(step.dropped)) == (rate, 4 - rate)
    assert step.decision == ("accept-best" if rate else "none")
    assert here.text(step.commits[-1] if rate else BRANCH).count("\n- ") == codes
    assert rate or step.reason == "the optimizer would have none of what was proposed (4) applied"


async def test_notes_are_bounded_and_recorded_as_they_were_written(yard: MakeYard) -> None:
    """The step's budget counts for them; the autonomous rate, which is about edits, does not."""
    lapses = [f"Look {n} times." for n in range(200)]
    models = Scripted(world(), failures=lambda _: patch(appendix_notes=["x" * 500, *lapses]))
    chosen = "{use_skill_aware_reflection: true, lr_scheduler: constant, lr_control_mode: autonomous}"
    here = start(yard, models, chosen)
    await here.train("evaluation.use_gate=false")
    step = here.steps[1]
    appendix = here.text(step.commits[-1]).partition("<!-- APPENDIX_START -->")[2]
    assert [line for line in appendix.splitlines() if line.startswith("- ")] == [f"- {text}" for text in lapses[:4]]
    assert [(edit["status"], edit["support"], edit["content"]) for edit in step.edits] == [
        ("applied", 4, "\n".join(lapses[:4])),
        ("left_out", 1, ""),
        ("left_out", 196, ""),
    ]
    assert "400 characters of a note" in step.edits[1]["why"]
    assert step.edits[2]["why"] == "Not written: a step adds at most 4 notes here."


@pytest.mark.parametrize(("together", "merges"), [(2, 3), (4, 1)])
async def test_merge_batch_size_of_rewrites(yard: MakeYard, together: int, merges: int) -> None:
    models = Scripted(world())
    gradient = f"{{minibatch_size: 4, merge_batch_size: {together}}}"
    here = start(yard, models, "{skill_update_mode: full_rewrite_minibatch}", gradient=gradient)
    await here.train()
    assert models.asked.count("merge_rewrites") == merges
    assert trailers(here, BRANCH, "Skill-Score") == "1.000000"


async def test_proposals(yard: MakeYard) -> None:
    """Of two candidates both are gated, the better one stays, and the other one is reachable as 00001-02."""
    made = world()
    topics = list(made.codes)

    def propose(call: Call) -> Any:
        # The first variant's minibatch begins otherwise than the second's.
        known = 1 if attempts(call) == seen.setdefault("first", attempts(call)) else 3
        return patch(*(made.rule(topic) for topic in topics[:known]))

    seen: dict[str, list[str]] = {}
    models = Scripted(made, failures=propose)
    here = start(yard, models, "{proposals: 2}")
    await here.train()
    step = here.steps[1]
    assert (step.decision, len(step.commits), len(step.others)) == ("accept-best", 3, 1)
    assert here.text(BRANCH).count("\n- ") == 3
    (ref, loser) = next(iter(here.refs("refs/skillgit/rejected/").items()))
    assert ref.endswith(f"/00001-{step.others[0]['candidate']:02d}")
    assert here.text(loser).count("\n- ") == 1
    assert trailers(here, loser, "Skill-Decision") == "reject"
    assert trailers(here, loser, "Skill-Score") == "0.125000"
    # It did better than the document before: it may be tried again, on another one.
    assert step.others[0]["document"] not in training.journal(here.root).state.tried


@pytest.mark.parametrize(
    ("source", "notes"),
    [("both", ["Look twice.", "Keep it up."]), ("failure", ["Look twice."]), ("success", ["Keep it up."])],
)
async def test_use_skill_aware_reflection_and_appendix_source(yard: MakeYard, source: str, notes: list[str]) -> None:
    """Lapses are asked for apart; the notes are a commit of their own, after the edits, in a region of their own."""
    made = world()
    known, other = list(made.codes)[:2]
    models = Scripted(
        made,
        failures=lambda _: patch(made.rule(other), appendix_notes=["Look twice."]),
        successes=lambda _: patch(appendix_notes=["Keep it up."]),
    )
    config = training.configuration(
        train=ONE_STEP,
        gradient=LARGE,
        optimizer=f"{{use_skill_aware_reflection: true, skill_aware_appendix_source: {source}}}",
    )
    here = yard(made, responder=models, config=config, document=f"{SEED_DOCUMENT}\n{made.rule(known)}\n")
    await here.train()
    step = here.steps[1]
    assert step.decision == "accept-best"
    assert [trailers(here, commit, "Skill-Edit") for commit in step.commits] == ["1/2 append", "2/2 appendix"]
    before, _, appendix = here.text(BRANCH).partition("<!-- APPENDIX_START -->")
    assert made.rule(other) in before
    assert [line for line in appendix.splitlines() if line.startswith("- ")] == [f"- {note}" for note in notes]
    assert "APPENDIX_START" not in here.text(step.commits[0])
    assert all("appendix_notes" in call.system for call in models.of("failures", "successes"))


async def test_without_skill_aware_reflection_notes_are_not_asked_for(yard: MakeYard) -> None:
    models = Scripted(world(), failures=lambda _: patch("- A line.", appendix_notes=["Look twice."]))
    here = start(yard, models, "{}")
    await here.train()
    assert not any("appendix_notes" in call.system for call in models.of("failures"))
    assert "APPENDIX" not in here.text(here.steps[1].commits[-1])


async def test_notes_that_win_nothing_are_rejected_as_any_candidate(yard: MakeYard) -> None:
    models = Scripted(world(), failures=lambda _: patch(appendix_notes=["Look twice."]))
    here = start(yard, models, "{use_skill_aware_reflection: true}")
    await here.train()
    assert here.steps[1].decision == "reject"
    assert "Look twice." in here.text(here.steps[1].commits[-1])
    assert "Look twice." not in here.text(BRANCH)


@pytest.mark.parametrize(("threshold", "asked", "notes"), [(0, 0, 3), (3, 0, 3), (2, 1, 1)])
async def test_skill_aware_consolidate_threshold(yard: MakeYard, threshold: int, asked: int, notes: int) -> None:
    made = world()
    lapses = ["Look twice.", "Look at the end.", "Say it once."]
    models = Scripted(made, failures=lambda _: patch(made.rule(next(iter(made.codes))), appendix_notes=lapses))
    chosen = f"{{use_skill_aware_reflection: true, skill_aware_consolidate_threshold: {threshold}}}"
    here = start(yard, models, chosen)
    await here.train()
    assert here.steps[1].decision == "accept-best"
    assert models.asked.count("consolidate") == asked
    appendix = here.text(BRANCH).partition("<!-- APPENDIX_START -->")[2]
    assert appendix.count("\n- ") == notes


@pytest.mark.parametrize(("rule", "most"), [("max_tokens: 16", 16), ("max_growth: 0.8", 16), ("max_tokens: 0", None)])
async def test_max_tokens_and_max_growth(yard: MakeYard, rule: str, most: int | None) -> None:
    """The start has nine tokens, each right line about five: what does not fit is left out, after a call to shorten."""
    models = Scripted(world())
    here = start(yard, models, f"{{{rule}}}")
    assert length(SEED_DOCUMENT) == 9
    await here.train()
    step = here.steps[1]
    assert step.decision == "accept-best"
    assert (length(here.text(BRANCH)) <= 16) == (most is not None)
    assert (len(step.commits) < 3) == (most is not None)
    assert models.asked.count("shorten") == (most is not None)


async def test_above_the_budget_from_the_start_what_shortens_is_kept(yard: MakeYard) -> None:
    """Beside an edit that would lengthen the document again, which stands in the record with the reason."""
    made = world()
    filler = [f"- filler line number {n} says nothing at all of use" for n in range(40)]
    drop = {"op": "delete", "target": filler[3], "reason": "It says nothing."}
    add = {"op": "append", "content": "- more\n" + "\n".join(made.rule(topic) for topic in made.codes)}
    models = Scripted(made, failures=lambda _: {"reasoning": "r", "edits": [add, drop]})
    config = training.configuration(train=ONE_STEP, gradient=LARGE, optimizer="{max_tokens: 100}")
    document = SEED_DOCUMENT + "\n" + "\n".join(filler) + "\n"
    here = yard(made, responder=models, config=config, document=document)
    await here.train()
    step = here.steps[1]
    assert {(edit["op"], edit["status"]) for edit in step.edits} == {("append", "left_out"), ("delete", "applied")}
    assert ["tokens, above optimizer.max_tokens of 100" in edit["why"] for edit in step.edits] == [
        edit["op"] == "append" for edit in step.edits
    ]
    assert here.text(step.commits[-1]) == document.replace(filler[3] + "\n", "")


async def test_where_nothing_fits_the_record_says_why(yard: MakeYard) -> None:
    models = Scripted(world(), failures=lambda _: patch("- " + "more and more " * 20))
    here = start(yard, models, "{max_tokens: 16}")
    await here.train()
    step = here.steps[1]
    assert (step.decision, [edit["status"] for edit in step.edits]) == ("none", ["left_out"])
    assert step.reason.startswith("too long: it has ")


async def test_a_shortening_is_a_commit_as_any_other(yard: MakeYard) -> None:
    made = world()
    cut = {"op": "replace", "target": "Answer with the code.", "content": "Only codes.", "reason": "Shorter."}
    models = Scripted(
        made,
        failures=lambda call: patch(made.rule(made.failing(first(call))[0])),
        shorten=lambda call: {"edits": [cut]} if "Answer with the code." in skill(call) else patch(),
    )
    here = start(yard, models, "{max_tokens: 13}")
    await here.train()
    assert [trailers(here, c, "Skill-Edit") for c in here.steps[1].commits] == ["1/2 append", "2/2 replace"]
    assert here.steps[1].decision == "accept-best"
    assert length(here.text(BRANCH)) <= 13


async def test_rewrites_that_are_too_long_are_no_broken_optimizer(yard: MakeYard) -> None:
    """They are asked for once more, with the reason, and then the step has no candidate; the run goes on to its end."""
    models = Scripted(world())
    chosen = "{skill_update_mode: full_rewrite_minibatch, max_tokens: 12}"
    here = start(yard, models, chosen, train="{num_epochs: 2, batch_size: 4}", gradient="{minibatch_size: 4}")
    outcome = await here.train()
    assert outcome.reason == "all epochs are done"
    assert here.watcher.decisions[1:] == ["none"] * 8
    assert {"above optimizer.max_tokens of 12" in step.reason for step in here.steps[1:]} == {True}
    retries = [call for call in models.of("minibatch") if "above optimizer.max_tokens of 12" in call.user]
    assert len(retries) == len(models.of("minibatch")) / 2


async def test_a_reply_that_breaks_a_rule_is_not_asked_for_again_by_a_resumed_step(yard: MakeYard) -> None:
    """Else a budget that is smaller than a step's calls would never get past the step."""
    models = Scripted(world())
    chosen = "{skill_update_mode: full_rewrite_minibatch, max_tokens: 12}"
    here = start(yard, models, chosen, gradient="{minibatch_size: 4}")
    for _ in range(12):
        async with training.session(here.root, here.watcher) as opened:
            opened.meter = Meter(Budget(max_calls=5))
            with SkillLock.acquire(opened.repo, training.SKILL) as lock:
                outcome = await train(opened, lock)
        if outcome.finished:
            break
    assert outcome.finished
    assert len(models.of("minibatch")) == 2 * 4
