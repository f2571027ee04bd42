"""Candidates at the gate, several at once: who wins, what becomes of the others, and what moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest
from support import training
from support.server import Answer, Call, error, serve
from support.training import BEST_REF, BRANCH, SKILL
from support.world import TopicWorld

from skillgit.document import Edit
from skillgit.errors import MeasurementError, ModelRefusedError
from skillgit.store.locks import SkillLock
from skillgit.train.gate.settling import (
    MOST_INDECISIVE,
    Bout,
    Contender,
    Settled,
    contender,
    measure,
    refuse_indecisive,
    settle,
)
from skillgit.train.propose.candidate import build
from skillgit.train.propose.proposals import Proposal
from skillgit.train.run import Run
from skillgit.train.start import begin

FLAKY = "FLAKY"


class Hall:
    """A run before its first step, in a world of eight topics; a document with `FLAKY` in it breaks the endpoint."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
        self.world = TopicWorld(8, 1)
        self.topics = list(self.world.codes)
        self.status = 400
        self.root = training.make(root, self.world, config=training.configuration())
        self.server = stack.enter_context(serve(self._answer))
        training.point_at(patch, self.server.env())

    def _answer(self, call: Call) -> Answer:
        # A few answers, so that the endpoint is not taken for dead.
        if FLAKY in call.system and not any(topic in call.user for topic in self.topics[:4]):
            return error(self.status, "too hard")
        return self.world(call)

    @asynccontextmanager
    async def run(self, *overrides: str) -> AsyncIterator[Run]:
        async with training.session(self.root, overrides=overrides) as opened:
            with SkillLock.acquire(opened.repo, SKILL) as lock:
                yield await begin(opened, lock, fresh=True)

    def right(self, *places: int) -> list[str]:
        return [self.world.rule(self.topics[place]) for place in places]

    def wrong(self, place: int) -> str:
        return f"- {self.topics[place]}: W000"


@pytest.fixture
def hall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hall]:
    with ExitStack() as stack:
        yield Hall(tmp_path / "repo", monkeypatch, stack)


def bout_of(run: Run, *, forced: bool = False) -> Bout:
    return Bout("step", run.state.step + 1, 1, run.document(), forced=forced, budget=4)


def candidate(run: Run, bout: Bout, number: int, lines: list[str], parent: str = "") -> Contender:
    proposals = [
        Proposal(Edit("append", content=line), support=1, source="failure", rank=n) for n, line in enumerate(lines)
    ]
    return contender(run, bout, number, build(bout.before.text, proposals), parent or bout.before.blob)


async def fought(run: Run, *lines: list[str], forced: bool = False) -> tuple[Settled, list[Contender]]:
    bout = bout_of(run, forced=forced)
    contenders = [candidate(run, bout, number, given) for number, given in enumerate(lines, start=1)]
    await measure(run, bout, contenders, spare=None)
    return settle(run, bout, contenders), contenders


def moved(settled: Settled) -> dict[str, tuple[str | None, str]]:
    return {update.ref: (update.old, str(update.new)) for update in settled.moves.updates}


async def test_the_best_of_those_that_pass_wins(hall: Hall) -> None:
    async with hall.run() as run:
        base = run.state.tip
        settled, fighters = await fought(run, hall.right(0), hall.right(1, 2), [hall.wrong(3)])
        record, state = settled.record, settled.state
        assert (record.candidate, record.decision, record.score) == (2, "accept-best", "1/4")
        assert [(other["candidate"], other["decision"]) for other in record.others] == [(1, "reject"), (3, "reject")]
        outdone, rejected = record.others
        assert outdone["reason"].startswith("candidate 2 is better; ")
        assert outdone["score"] == "1/8"  # it was measured to the end
        assert not rejected["reason"].startswith("candidate")
        # The branch and best go to the winner, the others get refs that hang on the same tip.
        prefix = f"refs/skillgit/rejected/{SKILL}/{run.info.run}/00001-"
        tip = record.commits[-1]
        assert moved(settled) == {
            BRANCH: (base, tip),
            BEST_REF: (base, tip),
            f"{prefix}01": (None, outdone["commits"][-1]),
            f"{prefix}03": (None, rejected["commits"][-1]),
        }
        assert settled.keeps == [outdone["commits"][-1], tip, rejected["commits"][-1]]
        for commit in (outdone["commits"][0], record.commits[0], rejected["commits"][0]):
            assert training.repos.git(hall.root, "rev-parse", f"{commit}^") == base
        assert training.trailer(hall.root, outdone["commits"][-1], "Skill-Decision") == "reject"
        # Outdone is not refused: reflection is not told of it, and it may come again.
        assert state.tried == [fighters[2].blob]
        assert [entry["document"] for entry in state.rejected] == [run.document().blob]
        assert (state.accepted_count, state.rejected_count, state.barren) == (1, 2, 0)
        assert state.incumbent == state.best == fighters[1].blob


async def test_of_equals_the_first_wins(hall: Hall) -> None:
    async with hall.run() as run:
        settled, _ = await fought(run, [hall.wrong(0)], hall.right(1), hall.right(2))
        assert settled.record.candidate == 2
        assert [other["candidate"] for other in settled.record.others] == [1, 3]


async def test_where_all_are_rejected_each_has_its_ref(hall: Hall) -> None:
    async with hall.run("evaluation.gate_mode=margin", "evaluation.epsilon=0.9") as run:
        settled, fighters = await fought(run, hall.right(0), hall.right(1, 2))
        # Both could still have reached as much: the first one's record is the step's.
        assert settled.record.maximum == settled.record.others[0]["maximum"]
        assert (settled.record.candidate, settled.record.decision) == (1, "reject")
        assert [(other["candidate"], other["decision"]) for other in settled.record.others] == [(2, "reject")]
        assert [ref[-2:] for ref in moved(settled)] == ["01", "02"]
        assert settled.state.tried == [fighters[0].blob, fighters[1].blob]
        assert (settled.state.rejected_count, settled.state.barren) == (2, 1)


async def test_what_there_is_nothing_to_measure_of_costs_nothing(hall: Hall) -> None:
    async with hall.run() as run:
        calls = hall.server.count
        run.state.tried = [candidate(run, bout_of(run), 1, hall.right(5)).blob]
        settled, fighters = await fought(run, [], hall.right(5))
        assert hall.server.count == calls
        assert [c.reason for c in fighters] == [
            "none of the proposed edits could be applied",
            "the candidate was rejected earlier in this run",
        ]
        assert (settled.record.decision, settled.record.reason) == ("none", fighters[0].reason)
        assert (settled.keeps, settled.moves.updates, settled.state.barren) == ([], [], 1)


async def test_the_same_document_is_measured_once(hall: Hall) -> None:
    async with hall.run() as run:
        calls = hall.server.count
        settled, fighters = await fought(run, hall.right(0), hall.right(0))
        assert fighters[1].reason == "the same as candidate 1"
        assert hall.server.count - calls == len(hall.world.tasks["val"])
        assert (settled.record.candidate, settled.record.others) == (1, [])


async def test_indecisive_beside_others_is_no_breakdown(hall: Hall) -> None:
    """Its commits are kept by the journal and have no ref: nothing was found out about it."""
    async with hall.run() as run:
        settled, fighters = await fought(run, [FLAKY], [hall.wrong(0)])
        assert (settled.record.candidate, settled.record.decision) == (2, "reject")
        (other,) = settled.record.others
        assert (other["candidate"], other["decision"]) == (1, "indecisive")
        assert other["commits"][-1] in settled.keeps
        assert [ref[-2:] for ref in moved(settled)] == ["02"]
        assert settled.state.tried == [fighters[1].blob]
        assert settled.state.indecisive == 0
        assert settled.state.rejected_count == 1


async def test_indecisive_alone_several_times_in_a_row_stops_the_run(hall: Hall) -> None:
    async with hall.run() as run:
        for times in range(1, MOST_INDECISIVE + 1):
            settled, _ = await fought(run, [FLAKY], [FLAKY, "Be brief."])
            assert settled.record.decision == "indecisive"
            assert settled.state.indecisive == times
            assert moved(settled) == {}
            if times < MOST_INDECISIVE:
                refuse_indecisive(settled.state, settled.record)
            run.state = settled.state
        with pytest.raises(MeasurementError, match="3 verdicts in a row had too few scores"):
            refuse_indecisive(run.state, settled.record)
        settled, _ = await fought(run, [hall.wrong(0)])
        assert settled.state.indecisive == 0


async def test_forced_is_accepted_and_measured_to_the_end_all_the_same(hall: Hall) -> None:
    async with hall.run() as run:
        first, _ = await fought(run, hall.right(0, 1))
        run.state = first.state
        for update in first.moves.updates:
            training.repos.git(hall.root, "update-ref", update.ref, str(update.new))
        best, val = run.state.best, len(hall.world.tasks["val"])
        settled, fighters = await fought(run, [hall.wrong(0), hall.wrong(1)], [hall.wrong(0)], forced=True)
        record = settled.record
        assert (record.candidate, record.decision, record.score) == (2, "forced", "1/8")
        assert record.reason.startswith("forced: the gate would have rejected it: ")
        assert training.trailer(hall.root, record.commits[-1], "Skill-Decision") == "forced"
        assert len(record.scores) == val
        assert [(other["candidate"], other["decision"]) for other in record.others] == [(1, "reject")]
        # Best stays the best measured one, and the next bar is the forced document's own score.
        assert (settled.state.incumbent, settled.state.best) == (fighters[1].blob, best)
        assert BEST_REF not in moved(settled)
        assert str(run.score(fighters[1].blob)) == "1/8"
        assert settled.state.tried == []


async def test_a_forced_one_that_is_better_is_the_best(hall: Hall) -> None:
    async with hall.run() as run:
        settled, fighters = await fought(run, hall.right(0), forced=True)
        assert (settled.record.decision, settled.state.best) == ("forced", fighters[0].blob)
        assert settled.record.reason.startswith("forced: the gate would have accepted it: ")
        assert BEST_REF in moved(settled)


async def test_what_was_proposed_for_another_document_says_so(hall: Hall) -> None:
    async with hall.run() as run:
        bout = bout_of(run)
        fighters = [candidate(run, bout, 1, hall.right(0), "a" * 40), candidate(run, bout, 2, [hall.wrong(1)])]
        await measure(run, bout, fighters, spare=None)
        record = settle(run, bout, fighters).record
        assert record.parent == "a" * 40
        assert record.document_before == run.document().blob
        assert record.others[0]["parent"] == ""


async def test_a_failure_of_one_ends_the_others(hall: Hall) -> None:
    """The error is raised once no call is under way any more."""
    async with hall.run() as run:
        bout = bout_of(run)
        fighters = [candidate(run, bout, n, [hall.wrong(n), FLAKY] if n == 1 else hall.right(n)) for n in (1, 2)]
        hall.status = 401
        before = asyncio.all_tasks()
        with pytest.raises(ModelRefusedError, match="too hard"):
            await measure(run, bout, fighters, spare=None)
        assert {task for task in asyncio.all_tasks() - before if not task.done()} == set()
