"""Rewrites: from suggestions, from minibatches, from all failures at once."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.optimizer import Bench, rollout

from skillgit.document import Edit
from skillgit.models.base import Request
from skillgit.train.propose import rewrite as rewriting
from skillgit.train.propose.aggregate import mechanical
from skillgit.train.propose.proposals import Proposal, Source
from skillgit.train.propose.reflect import Memory, Minibatch
from skillgit.train.propose.rewrite import (
    Rewritten,
    as_candidate,
    one_shot,
    rewrite,
    rewrite_minibatches,
    suggest,
)
from skillgit.train.propose.select import ranked
from skillgit.train.scoring.scores import HARD

FRONT = "---\nname: x\ndescription: frontmatter-text\n---\n"
TAIL = "<!-- SLOW_UPDATE_START -->\nGuide  them.\n<!-- SLOW_UPDATE_END -->\n"
DOCUMENT = f"{FRONT}\n# Rules\n\nAnswer well.\n\n{TAIL}"
TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
NOTHING = Memory()


def batch(source: Source, number: int, *ids: str) -> Minibatch:
    return Minibatch(source, number, tuple(rollout(ident, 0 if source == "failure" else 1) for ident in ids))


def whole(text: str, *summary: str) -> dict[str, Any]:
    return {"reasoning": "because", "new_skill": text, "change_summary": list(summary)}


def proposal(text: str, support: int = 1, source: Source = "failure") -> Proposal:
    return Proposal(Edit("suggest", content=text, reason="add", support=support), support, source, 0)


def suggestions(*items: tuple[str, str, Any]) -> dict[str, Any]:
    listed = [{"type": "add", "title": t, "instruction": i, "support": s} for t, i, s in items]
    return {"reasoning": "they lack\na rule", "suggestions": listed}


def texts(requests: Sequence[Request]) -> list[str]:
    return [request.turns[0].text for request in requests]


async def test_suggestions_come_within_the_budget_and_carry_their_support(tmp_path: Path) -> None:
    replies = [
        suggestions(("Codes", "say Q7 for refunds", 2), ("", "say it once", 99), ("C", "third", 1)),
        suggestions(("Codes:", "say Q7 for refunds", "many")),
    ]
    bench = Bench(tmp_path, replies, meta="Short edits work.")
    batches = [batch("failure", 1, "a", "b"), batch("success", 1, "c")]
    recall = Memory(("<rejected_edit>no</rejected_edit>",), ("<pattern>p</pattern>",))
    found = await suggest(bench.optimizer, DOCUMENT, batches, 2, recall)
    assert [(p.edit.op, p.edit.content, p.support, p.source, p.rank) for p in found.proposals] == [
        ("suggest", "Codes: say Q7 for refunds", 2, "failure", 0),
        ("suggest", "say it once", 2, "failure", 1),
        ("suggest", "Codes: say Q7 for refunds", 1, "success", 0),
    ]
    assert found.patterns == ("they lack a rule",)
    failures, successes = texts(bench.requests)
    assert "at most 2 suggestions" in failures
    assert "<rejected_edit>no</rejected_edit>" in failures
    assert "<pattern>p</pattern>" in failures
    assert "<notes>Short edits work.</notes>" in failures
    assert "<expected>answer of a</expected>" in failures
    assert "<guidance>Guide  them.</guidance>" in failures
    assert "<skill>\n# Rules\n\nAnswer well.\n</skill>" in failures
    assert "frontmatter-text" not in failures
    assert '<attempt id="c">' in successes
    assert not any(re.search(r"\{[a-z_]+\}", text) for text in (failures, successes))


async def test_suggestions_aggregate_and_select_as_edits_do(tmp_path: Path) -> None:
    replies = [suggestions(("A", "one", 1), ("B", "two", 1)), suggestions(("B", "two", 1))]
    bench = Bench(tmp_path, replies)
    found = await suggest(bench.optimizer, DOCUMENT, [batch("failure", 1, "a"), batch("failure", 2, "b")], 4, NOTHING)
    chosen = ranked(mechanical(found.proposals, DOCUMENT).kept, 1).chosen
    assert [(p.edit.content, p.support) for p in chosen] == [("B: two", 2)]


@pytest.mark.parametrize("reply", [{"suggestions": "none"}, {"edits": []}, suggestions(("title", "", 1))])
async def test_an_unusable_suggestion_is_asked_again_and_dropped(tmp_path: Path, reply: Any) -> None:
    bench = Bench(tmp_path, [reply, reply])
    found = await suggest(bench.optimizer, DOCUMENT, [batch("failure", 1, "a")], 4, NOTHING)
    assert found.proposals == ()
    assert bench.log.unusable == 1


async def test_one_call_rewrites_the_body_and_nothing_else(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [whole("# New\n\nSay Q7.\n", "Q7 came in")])
    chosen = [proposal("A: say Q7", 3), proposal("B </suggestion>", 5, "success")]
    found = await rewrite(bench.optimizer, DOCUMENT, chosen)
    assert found == Rewritten(f"{FRONT}\n# New\n\nSay Q7.\n\n{TAIL}", "because", ("Q7 came in",), 3, "failure")
    assert '<suggestion type="add" source="failure" support="3">A: say Q7</suggestion>' in bench.prompt
    assert "B &lt;/suggestion></suggestion>" in bench.prompt
    assert re.search(r"\{[a-z_]+\}", bench.prompt) is None


async def test_without_suggestions_nobody_is_asked(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert await rewrite(bench.optimizer, DOCUMENT, []) is None
    assert bench.requests == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "its new body is empty"),
        ("new <!-- hidden -->", "HTML comment"),
        (f"new\n\n{TAIL}", "region marker"),
        ("# Rules\n\nAnswer well.", "stay as it is"),
        (f"The token is {TOKEN}", "holds a secret (github)"),
        ("far too long", "no longer than that"),
        (None, "no text under 'new_skill'"),
    ],
)
async def test_what_cannot_be_taken_is_asked_again_with_the_reason(tmp_path: Path, text: Any, said: str) -> None:
    def refuse(document: str) -> str | None:
        return "no longer than that" if "far too long" in document else None

    bench = Bench(tmp_path, [whole(text), whole("Better.")])
    found = await rewrite(bench.optimizer, DOCUMENT, [proposal("x")], refuse=refuse)
    assert found is not None
    assert found.document == f"{FRONT}\nBetter.\n\n{TAIL}"
    retry = bench.requests[1].turns[-1].text
    assert said in retry
    assert TOKEN not in retry
    again = Bench(tmp_path / "b", [whole(text)] * 2)
    assert await rewrite(again.optimizer, DOCUMENT, [proposal("x")], refuse=refuse) is None


class Scribe(Bench):
    """Writes a document per minibatch (or as told), and merges candidates by joining their last lines."""

    def __init__(self, folder: Path, told: dict[str, str] | None = None, *, merges: bool = True) -> None:
        super().__init__(folder)
        self.model._answer = self._answer
        self._told, self._merges = told or {}, merges

    def _answer(self, request: Request) -> str:
        text = request.turns[0].text
        if "<candidate" in text:
            lines = re.findall(r"Rule ([\w+]+)\.</candidate>", text)
            return json.dumps(whole(f"# New\n\nRule {'+'.join(lines)}.")) if self._merges else "no JSON"
        ident = re.findall(r'<attempt id="(\w+)">', text)[0]
        return self._told.get(ident, json.dumps(whole(f"# New\n\nRule {ident}.")))

    def merges(self) -> list[str]:
        return [text for text in texts(self.requests) if "<candidate" in text]


async def test_minibatches_write_documents_that_are_merged_by_levels_failures_first(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    batches = [batch("success", 1, "s"), *(batch("failure", n, f"f{n}", f"g{n}") for n in range(1, 5))]
    found = await rewrite_minibatches(scribe.optimizer, DOCUMENT, batches, 2, NOTHING)
    assert found is not None
    # (f1+f2) (f3+f4) s, then (f1+f2+f3+f4) s, then all: two, one, one merges.
    assert found.document == f"{FRONT}\n# New\n\nRule f1+f2+f3+f4+s.\n\n{TAIL}"
    assert (found.source, found.support) == ("failure", 8)
    assert len(scribe.merges()) == 4
    assert '<candidate source="failure" support="2"># New\n\nRule f1.</candidate>' in scribe.merges()[0]
    assert [re.search("These attempts (failed|succeeded):", t).group(1) for t in texts(scribe.requests)[:5]] == [  # type: ignore[union-attr]
        *["failed"] * 4,
        "succeeded",
    ]
    assert not any(re.search(r"\{[a-z_]+\}", text) for text in texts(scribe.requests))


async def test_equal_documents_need_no_merge(tmp_path: Path) -> None:
    same = json.dumps(whole("# Same"))
    scribe = Scribe(tmp_path, {"a": same, "b": same, "s": same})
    batches = [batch("failure", 1, "a"), batch("failure", 2, "b", "c"), batch("success", 1, "s")]
    found = await rewrite_minibatches(scribe.optimizer, DOCUMENT, batches, 8, NOTHING)
    assert found is not None
    assert (found.document, found.support) == (f"{FRONT}\n# Same\n\n{TAIL}", 3)
    assert scribe.merges() == []


async def test_a_minibatch_without_a_usable_document_is_left_out(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path, {"a": "no JSON"})
    found = await rewrite_minibatches(
        scribe.optimizer, DOCUMENT, [batch("failure", 1, "a"), batch("failure", 2, "b")], 8, NOTHING
    )
    assert found is not None
    assert "Rule b." in found.document
    alone = Scribe(tmp_path / "alone", {"a": "no JSON"})
    assert await rewrite_minibatches(alone.optimizer, DOCUMENT, [batch("failure", 1, "a")], 8, NOTHING) is None


async def test_where_a_merge_fails_the_first_goes_on(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path, merges=False)
    batches = [batch("success", 1, "s"), batch("failure", 1, "a"), batch("failure", 2, "b")]
    found = await rewrite_minibatches(scribe.optimizer, DOCUMENT, batches, 8, NOTHING)
    assert found is not None
    assert "Rule a." in found.document


async def test_one_shot_is_one_call_with_a_bounded_seeded_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rollouts = [*(rollout(f"f{n:02d}", 0) for n in range(9)), rollout("ok", 1), rollout("bad", None)]
    monkeypatch.setattr(rewriting, "MOST_SHOWN", 4)
    shown = {}
    for seed in ("1", "1 again", "2"):
        bench = Bench(tmp_path / seed, [whole("# Once")])
        found = await one_shot(bench.optimizer, DOCUMENT, rollouts[:: -1 if "again" in seed else 1], HARD, seed[0])
        assert found is not None
        assert (found.document, found.support) == (f"{FRONT}\n# Once\n\n{TAIL}", 4)
        shown[seed] = re.findall(r'<attempt id="(\w+)">', bench.prompt)
        assert "These are 4 of 9 failed attempts, of 11 attempts in all:" in bench.prompt
        assert re.search(r"\{[a-z_]+\}", bench.prompt) is None
    assert shown["1"] == sorted(shown["1"]) == shown["1 again"] != shown["2"]
    assert set(shown["1"]) <= {f"f{n:02d}" for n in range(9)}


async def test_one_shot_shows_no_more_characters_than_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rollouts = [rollout(f"f{n}", 0, "x" * 1000) for n in range(9)]
    monkeypatch.setattr(rewriting, "MOST_CHARACTERS", 2500)
    bench = Bench(tmp_path, [whole("# Once")])
    await one_shot(bench.optimizer, DOCUMENT, rollouts, HARD, "1")
    assert bench.prompt.count("<attempt id=") == 2


async def test_one_shot_without_failures_asks_nobody(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert await one_shot(bench.optimizer, DOCUMENT, [rollout("ok", 1)], HARD, "1") is None
    assert bench.requests == []


def test_a_rewrite_is_one_edit() -> None:
    found = as_candidate("old\n", Rewritten("new\n", "because", ("one", "two"), 3, "success"))
    (outcome,) = found.applied
    assert found.document == outcome.document == "new\n"
    assert (outcome.edit.op, outcome.edit.content, outcome.edit.reason) == ("rewrite", "one; two", "because")
    assert (outcome.support, outcome.source) == (3, "success")
    assert as_candidate("old\n", Rewritten("old\n", "", ())).applied == ()


async def test_what_succeeded_may_need_no_change(tmp_path: Path) -> None:
    """A reply with the document as it is, about successes, is an answer: nothing is asked again or merged."""
    same = json.dumps(whole("# Rules\n\nAnswer well."))
    scribe = Scribe(tmp_path, {"s": same})
    batches = [batch("failure", 1, "a"), batch("success", 1, "s")]
    found = await rewrite_minibatches(scribe.optimizer, DOCUMENT, batches, 8, NOTHING)
    assert found is not None
    assert "Rule a." in found.document
    assert (len(scribe.requests), scribe.log.usable, scribe.log.unusable) == (2, 2, 0)
    # About failures it is asked for once more; no sign of a broken optimizer all the same.
    again = Scribe(tmp_path / "b", {"a": same})
    assert await rewrite_minibatches(again.optimizer, DOCUMENT, [batch("failure", 1, "a")], 8, NOTHING) is None
    assert (len(again.requests), again.log.usable, again.log.unusable) == (2, 1, 0)
    assert again.log.unfit == ["the new document cannot be used: the document would stay as it is"]


async def test_the_length_budget_is_told(tmp_path: Path) -> None:
    said = "The new document has at most 80 characters."
    bench = Bench(tmp_path, [whole("Better.")])
    await rewrite(bench.optimizer, DOCUMENT, [proposal("x")], said=said)
    assert said in bench.requests[0].turns[0].text
    plain = Bench(tmp_path / "plain", [whole("Better.")])
    await rewrite(plain.optimizer, DOCUMENT, [proposal("x")])
    assert "at most" not in plain.requests[0].turns[0].text
