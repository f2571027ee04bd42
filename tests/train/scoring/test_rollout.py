"""Attempts through the cache: what is answered is kept, what failed is missing, a dead target is not asked on."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from support import environments
from support.training import MemoryCache, ScriptedModel

from skillgit.envs.contract import Attempt, Environment, Score, Task
from skillgit.errors import EnvironmentFailedError, ModelError, ModelRefusedError
from skillgit.models.base import Request, Turn, Usage
from skillgit.train.events import UnitDone
from skillgit.train.scoring.rollout import Roller, decode_attempt, encode_attempt

DOCUMENT = "---\nname: x\ndescription: y\n---\n\nAnswer well.\n"


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """Ten train tasks `train N?`, answered by `word N`."""
    settings = 'system: "{skill}"\nprompt: "{input}"\nextract: whole\nscorer: exact\n'
    folder = environments.write_env(tmp_path / "env", settings, train=environments.rows("train", 10))
    return environments.load(folder)


def right(request: Request) -> str:
    """The right answer, as the task's own words have it."""
    return request.turns[-1].text.replace("train", "word").rstrip("?")


class Bench:
    """A roller with what it spent and told."""

    def __init__(self, environment: Environment, model: ScriptedModel, cache: MemoryCache | None = None) -> None:
        self.environment, self.model = environment, model
        self.cache = cache if cache is not None else MemoryCache()
        self.spent: list[Usage] = []
        self.told: list[UnitDone] = []
        self.roller = Roller(environment, model, self.cache, on_usage=self.spent.append)

    async def batch(self, tasks: list[Task] | None = None, *, blob: str = "b1", trials: int = 1):  # type: ignore[no-untyped-def]
        chosen = tasks if tasks is not None else list(self.environment.tasks("train"))
        work = [(task, trial) for task in chosen for trial in range(trials)]
        return await self.roller.batch(DOCUMENT, blob, work, self.told.append)


async def test_results_are_in_the_order_of_the_work(environment: Environment) -> None:
    bench = Bench(environment, ScriptedModel(lambda r: right(r) if "3" not in r.turns[-1].text else "no", in_flight=4))
    tasks = list(environment.tasks("train"))[::-1]
    found = await bench.batch(tasks)
    assert [r.task for r in found] == tasks
    assert [r.attempt.score.hard for r in found if r.attempt] == [int(t.id != "train-3") for t in tasks]
    assert bench.model.most_busy == 4
    assert sum((u.calls for u in bench.spent), 0) == len(bench.told) == 10
    assert {r.system.strip() for r in bench.model.requests} == {"Answer well."}


async def test_what_is_cached_is_not_asked_again(environment: Environment) -> None:
    first = Bench(environment, ScriptedModel(right))
    before = await first.batch()
    second = Bench(environment, ScriptedModel(right), first.cache)
    after = await second.batch()
    assert second.model.requests == []
    assert second.spent == []
    assert [unit.cached for unit in second.told] == [True] * 10
    assert [unit.cached for unit in first.told] == [False] * 10
    for old, new in zip(before, after, strict=True):
        assert old.attempt is not None
        assert new.attempt is not None
        assert (new.attempt.reply, new.attempt.score) == (old.attempt.reply, old.attempt.score)
        assert new.usage == Usage()


async def test_all_that_changes_a_score_is_in_the_key(environment: Environment, tmp_path: Path) -> None:
    task, other = environment.tasks("train")[:2]
    settings = 'system: "{skill}!"\nextract: whole\nscorer: exact\n'
    changed = environments.load(environments.write_env(tmp_path / "other", settings))

    def key(blob: str = "b", task: Task = task, trial: int = 0, env: Environment = environment, **more: object) -> str:
        model = ScriptedModel(right, **more)  # type: ignore[arg-type]
        return Bench(env, model).roller.key(blob, task, trial)

    keys = {
        key(),
        key(blob="c"),
        key(task=other),
        key(trial=1),
        key(env=changed),
        key(name="fake/other"),
        key(settings={"temperature": 1}),
    }
    assert len(keys) == 7
    assert key(in_flight=9) == key()


async def test_trials_are_asked_one_by_one(environment: Environment) -> None:
    bench = Bench(environment, ScriptedModel(right))
    task = environment.tasks("train")[0]
    found = await bench.batch([task], trials=3)
    assert [r.trial for r in found] == [0, 1, 2]
    assert len(bench.model.requests) == len(bench.cache.entries) == 3


async def test_an_error_is_missing_and_not_kept(environment: Environment) -> None:
    def flaky(request: Request) -> str:
        if "train 4?" in request.turns[-1].text:
            raise ModelError("cut off", mend="again")
        return right(request)

    bench = Bench(environment, ScriptedModel(flaky))
    found = await bench.batch()
    assert [r.task.id for r in found if r.attempt is None] == ["train-4"]
    failed = next(r for r in found if r.attempt is None)
    assert "cut off" in str(failed.error)
    assert [unit.score for unit in bench.told].count(None) == 1
    assert len(bench.cache.entries) == 9
    again = Bench(environment, ScriptedModel(right), bench.cache)
    assert all(r.attempt is not None for r in await again.batch())
    assert len(again.model.requests) == 1


async def test_an_empty_reply_is_scored_and_not_kept(environment: Environment) -> None:
    bench = Bench(environment, ScriptedModel(lambda _: ""))
    found = await bench.batch()
    assert [r.attempt.score.hard for r in found if r.attempt] == [0] * 10
    assert bench.cache.entries == {}


async def test_a_scorer_that_fails_is_missing(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(skill: str, task: Task, target: object) -> Attempt:
        if task.id == "train-0":
            raise EnvironmentFailedError("score.py: ended with 1")
        return Attempt("x", "x", Score(Fraction(1), Fraction(1)))

    monkeypatch.setattr(environment, "attempt", broken)
    found = await Bench(environment, ScriptedModel(right)).batch()
    assert [r.error for r in found if r.error] == ["score.py: ended with 1"]


async def test_a_dead_target_is_not_asked_for_every_task(environment: Environment) -> None:
    def dead(_: Request) -> str:
        raise ModelError("refused", mend="start it")

    bench = Bench(environment, ScriptedModel(dead, in_flight=2))
    with pytest.raises(ModelError, match="first 3 attempts all failed; the last: refused") as caught:
        await bench.batch()
    assert caught.value.mend == "start it"
    assert len(bench.model.requests) <= 4


async def test_failures_after_a_success_do_not_end_the_batch(environment: Environment) -> None:
    def mostly(request: Request) -> str:
        if "train 0?" in request.turns[-1].text:
            return right(request)
        raise ModelError("busy")

    found = await Bench(environment, ScriptedModel(mostly, in_flight=1)).batch()
    assert sum(r.attempt is None for r in found) == 9


async def test_a_wrong_key_ends_it_at_once(environment: Environment) -> None:
    def refused(request: Request) -> str:
        if "train 5?" in request.turns[-1].text:
            raise ModelRefusedError("401")
        return right(request)

    bench = Bench(environment, ScriptedModel(refused, in_flight=1))
    with pytest.raises(ModelRefusedError):
        await bench.batch()
    assert len(bench.model.requests) == 6
    assert len(bench.cache.entries) == 5  # what was answered is kept


def test_attempts_survive_json() -> None:
    turns = (Turn("user", "q\u2028\n"), Turn("assistant", "r"))
    attempt = Attempt("r", "a", Score(Fraction(1, 3), Fraction(2, 3), "why"), calls=("f", "g"), transcript=turns)
    assert decode_attempt(json.loads(json.dumps(encode_attempt(attempt)))) == attempt
