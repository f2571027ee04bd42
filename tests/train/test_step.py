"""One step, on a real repository: accepted, rejected, with nothing to measure, indecisive; and with people about."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

import pytest
from support import repos, training
from support.server import Answer, Call, error
from support.training import BEST_REF, BRANCH, DOCUMENT, Yard
from support.world import SEED_DOCUMENT, Kinds, TopicWorld

from skillgit.errors import MeasurementError, ModelError, ModelRefusedError
from skillgit.store.repository import Repository

MakeYard = Callable[..., Yard]
ONE_EPOCH = training.configuration(train="{num_epochs: 1, batch_size: 8}")
TWO_STEPS = training.configuration(train="{num_epochs: 1, batch_size: 4}")
RIGHT, WRONG, USELESS = Kinds(100, 0), Kinds(0, 100), Kinds(0, 0)
TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


def world(kinds: Kinds = RIGHT, topics: int = 4) -> TopicWorld:
    return TopicWorld(topics, 1, kinds=kinds)


async def test_an_accepted_candidate(yard: MakeYard) -> None:
    here = yard(world(topics=8), config=ONE_EPOCH)
    base = here.git("rev-parse", "main")
    outcome = await here.train()
    baseline, step = here.steps[0], here.steps[1]
    assert (baseline.decision, step.decision) == ("baseline", "accept-best")
    assert here.watcher.decisions == [record.decision for record in here.steps]
    # One commit per edit, each on the last, the first on the base.
    first_of_run = here.git("log", "--reverse", "--format=%H", "main.." + step.commits[-1]).splitlines()
    assert first_of_run == step.commits
    assert here.git("rev-parse", f"{step.commits[0]}^") == base
    assert [here.text(commit).count("\n- ") for commit in step.commits] == [1, 2, 3]
    edits = [training.trailer(here.root, commit, "Skill-Edit") for commit in step.commits]
    assert edits == ["1/3 append", "2/3 append", "3/3 append"]
    for commit in step.commits[:-1]:
        assert training.trailer(here.root, commit, "Skill-Decision") == ""
    last = step.commits[-1]
    assert training.trailer(here.root, last, "Skill-Decision") == "accept-best"
    assert training.trailer(here.root, last, "Skill-Score") == f"{float(Fraction(str(step.score))):.6f}" == "0.375000"
    assert training.trailer(here.root, last, "Skill-Score-Before") == "0.000000"
    assert training.trailer(here.root, last, "Skill-Blob") == here.git("rev-parse", f"{last}:{DOCUMENT}")
    assert training.trailer(here.root, last, "Skill-Gate") == "strict hard n=16 repeats=1"
    assert outcome.steps == 2
    # Only the document changed, and no work tree or index.
    assert here.git("diff", "--name-only", base, last) == DOCUMENT
    assert here.git("status", "--porcelain") == ""
    assert here.git("rev-parse", "main") == base
    repos.fsck(here.root)


async def test_a_step_with_its_costs(yard: MakeYard) -> None:
    here = yard(world(), config=ONE_EPOCH)
    await here.train()
    assert sum(step.cost["calls"] for step in here.steps) == here.server.count
    assert [step.cost["calls"] for step in here.steps] == [8, 8 + 1 + 8]


async def test_a_rejected_candidate(yard: MakeYard) -> None:
    here = yard(world(WRONG, topics=8), config=ONE_EPOCH, document=SEED_DOCUMENT + "\n")
    base = here.git("rev-parse", "main")
    await here.train()
    step = here.steps[1]
    assert step.decision == "reject"
    rejected = here.refs("refs/skillgit/rejected/")
    run = training.journal(here.root).info.run
    assert rejected == {
        f"refs/skillgit/rejected/topics/{run}/00001-01": step.commits[-1],
        f"refs/skillgit/rejected/topics/{run}/00002-01": here.steps[2].commits[-1],
    }
    # Its first parents end at the tip that it was tried on, and nothing else moved.
    assert here.git("rev-list", "--first-parent", f"{base}..{step.commits[-1]}").splitlines() == step.commits[::-1]
    assert here.refs(BRANCH) == {BRANCH: base}
    assert here.refs(BEST_REF) == {BEST_REF: base}
    last = step.commits[-1]
    assert training.trailer(here.root, last, "Skill-Decision") == "reject"
    assert here.git("rev-parse", f"{last}:{DOCUMENT}") == step.document
    assert step.document in training.journal(here.root).state.tried
    repos.fsck(here.root)


async def test_an_early_rejection_records_what_it_could_have_reached(yard: MakeYard) -> None:
    """A document that knows half of the topics; wrong lines for the others win nothing."""
    half = world(WRONG, topics=8)
    document = SEED_DOCUMENT + "\n" + "".join(half.rule(topic) + "\n" for topic in list(half.codes)[:4])
    here = yard(half, config=ONE_EPOCH.replace("in_flight: 8", "in_flight: 1"), document=document)
    await here.train()
    step = here.steps[1]
    assert (step.decision, step.score, step.prefix, step.val_tasks) == ("reject", None, 8, 16)
    assert Fraction(str(step.maximum)) == Fraction(8, 16)
    assert list(step.scores) == sorted(step.scores)
    assert len(step.scores) == 8
    last = step.commits[-1]
    assert training.trailer(here.root, last, "Skill-Score-Max") == "0.500000"
    assert training.trailer(here.root, last, "Skill-Score") == ""
    # The batch; failures, asked about twice since every code is made up, and successes; and the eight val tasks that
    # decide instead of all sixteen.
    assert step.cost["calls"] == 8 + 3 + 8


async def test_waves_and_racing_never_change_the_record(yard: MakeYard) -> None:
    half = training.mixed()
    here = yard(half, config=TWO_STEPS)
    await here.train()
    records = []
    for overrides in ([], ["evaluation.racing=false"]):
        here.git("update-ref", "-d", BRANCH)
        here.git("update-ref", "-d", BEST_REF)
        for ref in [*here.refs("refs/skillgit/runs"), *here.refs("refs/skillgit/rejected"), *here.refs("refs/tags")]:
            here.git("update-ref", "-d", ref)
        await here.train(*overrides)
        records.append([{**vars_of(step)} for step in here.steps])
    assert records[0] == records[1]
    assert {"reject", "accept-best"} <= {record["decision"] for record in records[0]}


def vars_of(step: object) -> dict[str, object]:
    left_out = ("commits", "refs", "cost")
    return {name: getattr(step, name) for name in step.__slots__ if name not in left_out}  # type: ignore[attr-defined]


async def test_a_candidate_that_was_rejected_before_is_not_measured_again(yard: MakeYard) -> None:
    """Without tickets in its prompt the optimizer proposes the same in every step."""

    class Stubborn(TopicWorld):
        def propose(self, prompt: str) -> str:
            edits = [{"op": "append", "content": "- Be kind.", "reason": "", "support": 1}]
            return json.dumps({"reasoning": "", "edits": edits})

    here = yard(Stubborn(4, 1), config=TWO_STEPS)
    await here.train()
    assert [step.decision for step in here.steps] == ["baseline", "reject", "none"]
    none = here.steps[2]
    assert none.reason == "the candidate was rejected earlier in this run"
    assert none.cost["calls"] == 4 + 1  # the batch and the optimizer, no val task
    assert none.commits == []
    assert len(here.refs("refs/skillgit/rejected/")) == 1


THERE = {"op": "replace", "target": "Answer with the code.", "content": "Say the code."}
BACK = {"op": "replace", "target": "Say the code.", "content": "Answer with the code."}


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        ([], "no edit was proposed"),
        ([{"op": "replace", "target": "no such words", "content": "x"}], "none of the proposed edits could be applied"),
        ([{"op": "append", "content": f"The token is {TOKEN}."}], "none of the proposed edits could be applied"),
        ([{**THERE, "support": 2}, BACK], "the candidate equals the incumbent"),
    ],
)
async def test_nothing_to_measure(yard: MakeYard, edits: list[dict[str, str]], reason: str) -> None:
    class Fixed(TopicWorld):
        def propose(self, prompt: str) -> str:
            return json.dumps({"reasoning": "", "edits": edits})

    here = yard(Fixed(4, 1), config=ONE_EPOCH)
    before = here.refs("refs/heads/")
    await here.train()
    step = here.steps[1]
    assert (step.decision, step.reason) == ("none", reason)
    assert step.document == step.document_before
    assert step.commits == []
    assert here.refs("refs/heads/") == {**before, BRANCH: before["refs/heads/main"]}
    assert here.refs("refs/skillgit/rejected/") == {}
    # What fits nowhere is left out before the learning rate is used up; a secret is found when the edit is applied.
    single = edits[0] if len(edits) == 1 else {}
    assert [dropped["why"].split(":")[0] for dropped in step.dropped] == (["unmatched"] if "target" in single else [])
    assert [edit["status"] for edit in step.edits if edit["status"] != "applied"] == (
        ["invalid"] if single and "target" not in single else []
    )


async def test_secrets_reach_no_ref(yard: MakeYard) -> None:
    """Not in the edit that was refused, nor in one outside of the budget, nor in a reason, nor in a transcript."""

    class Leaky(TopicWorld):
        def propose(self, prompt: str) -> str:
            edits = [
                {"op": "append", "content": f"The token is {TOKEN}.", "reason": f"{TOKEN} came up", "support": 3},
                {"op": "append", "content": "- fine", "reason": f"not {TOKEN}", "support": 2},
                {"op": "append", "content": f"- {TOKEN} again", "reason": TOKEN, "support": 1},
            ]
            return json.dumps({"reasoning": f"They need {TOKEN}.", "edits": edits})

        def target(self, document: str, ticket: str) -> str:
            return f"{TOKEN} is what I know"

    here = yard(
        Leaky(4, 1),
        config=training.configuration(
            train="{num_epochs: 1, batch_size: 4}", optimizer="{learning_rate: 2, lr_scheduler: constant}"
        ),
    )
    await here.train()
    assert [edit["status"] for edit in here.steps[1].edits] == ["invalid", "applied"]
    assert len(here.steps[1].dropped) == 0  # beyond the budget within one patch: never a proposal
    objects = here.git("cat-file", "--batch-check=%(objectname)", "--batch-all-objects").splitlines()
    for oid in objects:
        raw = repos.git(here.root, "cat-file", here.git("cat-file", "-t", oid), oid)
        assert TOKEN not in raw
    assert "- fine" in here.git("log", "--all", "-p")


async def test_what_was_rejected_is_told_to_the_next_step(yard: MakeYard) -> None:
    here = yard(world(WRONG, topics=8), config=ONE_EPOCH)
    await here.train()
    assert [step.decision for step in here.steps[1:]] == ["reject", "reject"]
    prompts = [call.user for call in here.server.calls if "These attempts failed:" in call.user]
    tried = here.steps[1].edits[0]["content"]
    assert tried not in prompts[0]
    assert tried in prompts[1]
    assert "(scored 0.000000, the incumbent 0.000000)" in prompts[1]
    assert "<pattern>Each topic has a code of its own.</pattern>" in prompts[1]


async def test_the_next_run_is_told_what_was_rejected_before(yard: MakeYard) -> None:
    """On this very document; after another document has come in, an edit may be tried again."""
    here = yard(world(WRONG, topics=8), config=training.configuration(train="{num_epochs: 1, batch_size: 16}"))
    await here.train()
    tried = here.steps[1].edits[0]["content"]
    asked = here.server.count
    await here.train()
    prompts = [call.user for call in here.server.calls[asked:] if "These attempts failed:" in call.user]
    assert prompts
    assert all(tried in prompt for prompt in prompts)
    here.commit_on(BRANCH, {DOCUMENT: SEED_DOCUMENT + "\nAnother.\n"})
    asked = here.server.count
    await here.train()
    prompts = [call.user for call in here.server.calls[asked:] if "These attempts failed:" in call.user]
    assert not any("<rejected_edit>" in prompt for prompt in prompts)


async def test_patterns_end_with_the_epoch_rejections_with_the_document(yard: MakeYard) -> None:
    here = yard(TopicWorld(8, 1, kinds=WRONG), config=training.configuration(train="{num_epochs: 2, batch_size: 16}"))
    await here.train()
    prompts = [call.user for call in here.server.calls if training.is_reflection(call)]
    first_of_second = prompts[len(prompts) // 2]
    assert "<pattern>" not in first_of_second
    assert here.steps[1].edits[0]["content"] in first_of_second  # rejected on this very document


async def test_nothing_failed(yard: MakeYard) -> None:
    """No reflection, and no call but the batch's; after an epoch of it the run ends."""
    full = world()
    document = SEED_DOCUMENT + "\n" + "".join(full.rule(topic) + "\n" for topic in full.codes)
    # A val task whose answer nobody knows keeps val below its ceiling.
    full.tasks["val"].append({"id": "val-x", "input": "Ticket: the comet came down. Which code?", "answer": "C1"})
    here = yard(full, config=training.configuration(train="{num_epochs: 3, batch_size: 4}"), document=document)
    outcome = await here.train()
    assert outcome.reason == "nothing fails on train any more"
    assert [step.decision for step in here.steps] == ["baseline", "none", "none"]
    assert here.steps[1].reason == "nothing failed"
    assert not any(training.is_reflection(call) for call in here.server.calls)
    assert len(here.refs("refs/tags/")) == 1


async def test_an_optimizer_that_is_never_usable_stops_the_run(yard: MakeYard) -> None:
    class Mute(TopicWorld):
        broken = True

        def propose(self, prompt: str) -> str:
            return "I cannot help with that." if self.broken else super().propose(prompt)

    here = yard(
        Mute(8, 1, kinds=RIGHT),
        config=training.configuration(train="{num_epochs: 1, batch_size: 8}", gradient="{minibatch_size: 4}"),
    )
    with pytest.raises(ModelError, match="no usable reply 3 times in a row") as caught:
        await here.train("train.batch_size=12", "gradient.minibatch_size=4")
    assert caught.value.exit_code == 3
    assert training.journal(here.root).state.status == "running"
    assert [step.decision for step in here.steps] == ["baseline"]
    asked = here.server.count
    here.world.broken = False  # type: ignore[attr-defined]
    outcome = await here.train("train.batch_size=12", "gradient.minibatch_size=4")
    assert outcome.accepted
    # Goes on: no attempt of the broken step is made again.
    repeated = [call.body for call in here.server.calls[asked:] if not training.is_reflection(call)]
    known = [call.body for call in here.server.calls[:asked]]
    assert not any(body in known for body in repeated)


async def test_unusable_replies_add_up_over_steps(yard: MakeYard) -> None:
    class Mute(TopicWorld):
        def propose(self, prompt: str) -> str:
            return "no"

    here = yard(Mute(8, 1), config=training.configuration(train="{num_epochs: 1, batch_size: 4}"))
    with pytest.raises(ModelError, match="3 times in a row"):
        await here.train()
    assert [step.decision for step in here.steps] == ["baseline", "none", "none"]
    assert training.journal(here.root).state.unusable == 2
    assert any("could not be used" in note for note in here.watcher.notes)


async def test_all_attempts_failing_stops_the_run(yard: MakeYard) -> None:
    worked = world()

    class Switch:
        down = False

        def __call__(self, call: Call) -> Answer:
            if self.down and "train" not in call.user and not training.is_reflection(call):
                return error(500, "overloaded")
            return worked(call)

    switch = Switch()
    here = yard(worked, responder=switch, config=training.configuration(limits="{in_flight: 2}"))
    switch.down = True
    with pytest.raises(ModelError, match="all failed"):
        await here.train()
    assert here.refs("refs/skillgit/") == {}
    assert here.server.count <= 4 * 5  # three tasks and one in flight, with the SDK's retries; not all of them
    switch.down = False
    assert (await here.train()).accepted


async def test_a_batch_that_fails_as_a_whole_stops_the_run(yard: MakeYard) -> None:
    """Fewer tasks than calls in flight: no attempt can show that the target is dead before all are made."""
    worked = world()
    train = {row["input"] for row in worked.tasks["train"]}
    down = True

    def respond(call: Call) -> Answer:
        return error(500, "overloaded") if down and call.user in train else worked(call)

    here = yard(worked, responder=respond, config=TWO_STEPS)
    with pytest.raises(MeasurementError, match="all 4 attempts of step 1 failed") as caught:
        await here.train()
    assert caught.value.exit_code == 3
    assert [step.decision for step in here.steps] == ["baseline"]
    down = False
    assert (await here.train()).accepted
    assert here.steps[0].decision == "baseline"


async def test_a_wrong_key_is_said_at_once(yard: MakeYard) -> None:
    here = yard(world(), responder=lambda call: error(401, "no such key"), config=TWO_STEPS)
    with pytest.raises(ModelRefusedError, match="401"):
        await here.train()
    assert here.server.count <= 8


async def test_too_many_val_errors_are_indecisive_and_stop_the_run_after_three(yard: MakeYard) -> None:
    """The target fails on most val tasks as soon as the document has a rule."""
    worked = world(topics=8)
    val = {row["input"] for row in worked.tasks["val"][2:]}

    def respond(call: Call) -> Answer:
        if "\n- " in call.system and call.user in val and not training.is_reflection(call):
            return error(500, "too much")
        return worked(call)

    config = training.configuration(train="{num_epochs: 2, batch_size: 4}", limits="{in_flight: 16}")
    here = yard(worked, responder=respond, config=config)
    base = here.git("rev-parse", "main")
    with pytest.raises(MeasurementError, match="3 verdicts in a row"):
        await here.train()
    assert [step.decision for step in here.steps[1:]] == ["indecisive"] * 3
    assert here.refs("refs/skillgit/rejected/") == {}
    assert here.refs(BRANCH) == {BRANCH: base}
    state = training.journal(here.root).state
    assert (state.status, state.tried, state.rejected_count, state.indecisive) == ("running", [], 0, 3)
    # The candidate's commits are kept by the journal alone.
    assert here.steps[1].commits[-1] in here.git("rev-list", *here.refs("refs/skillgit/runs/")).splitlines()


async def test_one_seed_one_run(yard: MakeYard) -> None:
    """Batches and prompts come from the seed alone: a second repository sees the very same calls."""
    here = yard(training.mixed(), config=TWO_STEPS.replace("evaluation: {", "evaluation: {racing: false, "))
    await here.train()
    first = {json.dumps(call.body, sort_keys=True) for call in here.server.calls}
    count = here.server.count
    for ref in [*here.refs("refs/heads/skill"), *here.refs("refs/skillgit"), *here.refs("refs/tags")]:
        here.git("update-ref", "-d", ref)
    (Repository.open(here.root).state_dir / "calls.sqlite3").unlink()
    await here.train()
    assert {json.dumps(call.body, sort_keys=True) for call in here.server.calls[count:]} == first
    await here.train("train.seed=7", fresh=True)
    assert training.journal(here.root).info.settings["train"]["seed"] == 7


async def test_an_errored_attempt_costs_an_accepted_candidate_neither_best_nor_sense(yard: MakeYard) -> None:
    """Of sixteen val tasks the seed solves those of one topic; the candidate cannot be scored on one of these."""
    inner = world(topics=8)
    known = next(iter(inner.codes))
    lost = next(row["input"] for row in inner.tasks["val"] if known in row["input"])

    def answer(call: Call) -> Answer:
        candidate = call.system.count("\n- ") > 1
        return error(500, "overloaded") if candidate and call.user == lost else inner(call)

    document = SEED_DOCUMENT + "\n" + inner.rule(known) + "\n"
    one_step = training.configuration(train="{num_epochs: 1, batch_size: 16}")
    here = yard(inner, responder=answer, config=one_step, document=document)
    await here.train()
    step = here.steps[1]
    assert step.decision == "accept-best"
    assert here.refs(BEST_REF)[BEST_REF] == step.commits[-1]
    # Over the fifteen tasks that both have: one solved before, and those of four more topics after.
    solved = sum(inner.target(here.text(step.commits[-1]), row["input"]) == row["answer"] for row in inner.tasks["val"])
    assert Fraction(step.before or 0) == Fraction(1, 15)
    assert step.score == step.score_hard == step.score_soft
    assert Fraction(step.score or 0) == Fraction(solved - 1, 15)
    gate = here.git("log", "-1", "--format=%(trailers:key=Skill-Gate,valueonly)", step.commits[-1]).strip()
    assert gate == "strict hard n=15 missing=1 repeats=1"


@pytest.mark.parametrize(("proposer", "carried"), [("model", True), ("examples", False)])
async def test_failures_on_an_unchanged_document_fill_the_last_minibatch(
    yard: MakeYard, proposer: str, carried: bool
) -> None:
    """Of two steps of four failures each, the second is shown all eight, but where nobody knows what was rejected."""
    config = training.configuration(
        train="{num_epochs: 1, batch_size: 4}",
        gradient=f"{{proposer: {proposer}}}",
        evaluation="{gate_mode: margin, epsilon: 1.0}",  # nothing is ever accepted
        optimizer="{learning_rate: 8, lr_scheduler: constant}",
    )
    here = yard(world(WRONG, topics=4), config=config, document=SEED_DOCUMENT)
    await here.train()
    prompts = [call.user for call in here.server.calls if "These attempts failed:" in call.user]
    if carried:
        assert [prompt.count("<attempt ") for prompt in prompts] == [4, 8]
        assert here.server.count == len({json.dumps(call.body, sort_keys=True) for call in here.server.calls})
    else:
        inputs = {task["id"]: task["input"] for task in here.world.tasks["train"]}
        for step in here.steps[1:]:
            assert len(step.edits) == 4
            assert all(any(inputs[task] in edit["content"] for task in step.batch) for edit in step.edits)
