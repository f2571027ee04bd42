"""Proposers by name, and what a plugin may return."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from support.optimizer import Bench, rollout

from skillgit.document import Edit
from skillgit.errors import ConfigError, ModelError
from skillgit.train.propose.proposals import Proposal, weight
from skillgit.train.propose.proposers import Context, Proposer, ask_proposer, find_proposer
from skillgit.train.scoring.scores import HARD

PLUGIN = """
from skillgit.document import Edit
from skillgit.train.propose.proposals import Proposal

class Echo:
    async def propose(self, context):
        texts = [f"{context.seed} {rollout.task.id}" for rollout in context.rollouts]
        return [Proposal(Edit("append", content=text), 1, "failure", 0) for text in texts]

echo = Echo()
nothing = object()

class Broken:
    def __init__(self):
        raise KeyError("token")
"""


def install(site: Path, module: str, points: str) -> None:
    """What pip leaves of a distribution with one module."""
    info = site / "some_proposers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-proposers\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[skillgit.proposers]\n{points}\n")
    (site / f"{module}.py").write_text(PLUGIN)


def context(bench: Bench, budget: int = 4) -> Context:
    rollouts = (rollout("a", 0), rollout("b", 1), rollout("c", None))
    return Context("# Rules\n", rollouts, budget, bench.environment, HARD, (), "s1", bench.optimizer)


class Fixed:
    def __init__(self, found: Any) -> None:
        self._found = found

    async def propose(self, context: Context) -> Sequence[Proposal]:
        if isinstance(self._found, Exception):
            raise self._found
        return self._found  # type: ignore[no-any-return]


async def test_examples_asks_no_model(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    found = await ask_proposer(find_proposer("examples"), "examples", context(bench))
    assert [p.edit.content for p in found] == ["- input of a -> answer of a"]
    assert bench.requests == []


@pytest.mark.parametrize("name", ["echo-class", "echo-object"])
async def test_a_plugin_is_a_class_or_an_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module = f"echo_{name.replace('-', '_')}"
    install(tmp_path, module, f"echo-class = {module}:Echo\necho-object = {module}:echo")
    found = await ask_proposer(find_proposer(name), name, context(Bench(tmp_path), budget=2))
    assert [(p.edit.content, p.rank) for p in found] == [("s1 a", 0), ("s1 b", 1)]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("exampels", "gradient.proposer: there is no 'exampels'; did you mean 'examples'?"),
        ("nothing", "skillgit.proposers: 'nothing' has no method `propose`; see docs/plugins.md"),
        ("broken", "skillgit.proposers: 'broken': KeyError: 'token'; mend or update the plugin"),
    ],
)
def test_what_is_no_proposer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module = f"bad_{name}"
    install(tmp_path, module, f"nothing = {module}:nothing\nbroken = {module}:Broken")
    with pytest.raises(ConfigError) as caught:
        find_proposer(name)
    assert str(caught.value) == said


GOOD = Proposal(Edit("append", content="x"), 2, "failure", 5)


async def test_support_and_rank_hold_whatever_was_returned(tmp_path: Path) -> None:
    proposer: Proposer = Fixed([GOOD, replace(GOOD, support=0), replace(GOOD, support="many")])
    found = await ask_proposer(proposer, "x", context(Bench(tmp_path)))
    assert [(p.support, p.edit.support, p.rank) for p in found] == [(2, 2, 0), (1, 1, 1), (1, 1, 2)]


async def test_what_it_returns_can_be_written_to_the_journal(tmp_path: Path) -> None:
    half = Proposal(Edit("append", "t\ud800", "c\udfff", "r\ud83d"), 10**5000, "failure", 0, "b\ud800", "x", "y")  # type: ignore[arg-type]
    other = replace(GOOD, batch=None, support=True)  # type: ignore[arg-type]
    found = await ask_proposer(Fixed([half, other]), "x", context(Bench(tmp_path)))
    json.dumps([asdict(p) for p in found], ensure_ascii=False).encode()
    assert (found[0].edit.target, found[0].edit.content, found[0].edit.reason) == ("t\ufffd", "c\ufffd", "r\ufffd")
    assert sorted(found, key=weight) == found


async def test_what_it_changes_stays_its_own(tmp_path: Path) -> None:
    class Rude:
        async def propose(self, context: Context) -> Sequence[Proposal]:
            for one in context.rollouts:
                one.task.fields.clear()  # type: ignore[attr-defined]
            return [GOOD]

    given = context(Bench(tmp_path))
    assert await ask_proposer(Rude(), "x", given)
    assert all(one.task.fields for one in given.rollouts)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "'x': TypeError"),
        ([Edit("append", content="x")], "'x' returned Edit"),
        ([replace(GOOD, edit=Edit("upsert", content="x"))], "'x' returned an edit with op 'upsert'"),
        ([replace(GOOD, source="dream")], "'x' returned source 'dream'"),
        (ValueError("no luck\nat all"), "'x': ValueError: no luck at all"),
        (ValueError("half \ud800"), "'x': ValueError: half \ufffd"),
    ],
)
async def test_what_is_no_proposal_stops_the_run_and_names_the_plugin(tmp_path: Path, found: Any, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        await ask_proposer(Fixed(found), "x", context(Bench(tmp_path)))
    assert said in str(caught.value)


async def test_a_failed_model_call_of_a_plugin_is_a_failed_model_call(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        await ask_proposer(Fixed(ModelError("busy")), "x", context(Bench(tmp_path)))


async def test_the_proposer_that_the_documentation_shows_works(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/plugins.md").read_text(encoding="utf-8")
    shown: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], shown)
    found = await ask_proposer(shown["ShortestFirst"](), "shortest-first", context(Bench(tmp_path)))
    assert [p.edit.content for p in found] == ["- input of a: answer of a"]
