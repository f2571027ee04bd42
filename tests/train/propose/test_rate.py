"""The autonomous learning rate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.optimizer import Bench

from skillgit.document import Edit
from skillgit.train.propose.proposals import Proposal
from skillgit.train.propose.rate import Rate, StepEvidence, autonomous_rate
from skillgit.train.propose.rewrite import SUGGEST

EDITS = [
    Proposal(Edit("append", content=name), support, "failure", 0) for name, support in (("a", 1), ("b", 2), ("c", 1))
]
EVIDENCE = StepEvidence(16, "0.625000", "0.700000", ("step 1: 4 edits, rejected",))


async def rate(bench: Bench, scheduled: int = 2) -> Rate:
    return await autonomous_rate(EDITS, "# Rules\n", EVIDENCE, scheduled, bench.optimizer)


@pytest.mark.parametrize(
    ("answer", "edits", "asked"),
    [(0, 0, 0), (1, 1, 1), (3, 3, 3), (9, 3, 9), (-4, 0, -4), (2.0, 2, 2), ("2", 2, 2), ("1 edit", 1, 1)],
)
async def test_the_answer_is_clamped_to_what_there_is(tmp_path: Path, answer: Any, edits: int, asked: int) -> None:
    bench = Bench(tmp_path, [{"reasoning": "why", "learning_rate": answer}])
    assert await rate(bench) == Rate(edits, asked, "why")


@pytest.mark.parametrize("answer", [None, True, 1.5, "1.5", "many", [2]])
@pytest.mark.parametrize(("scheduled", "edits"), [(2, 2), (8, 3)])
async def test_a_broken_reply_leaves_the_schedule(tmp_path: Path, answer: Any, scheduled: int, edits: int) -> None:
    """SkillOpt would apply nothing, and lose the step."""
    bench = Bench(tmp_path, [{"learning_rate": answer}, "no JSON at all"])
    assert await rate(bench, scheduled) == Rate(edits)
    assert "'learning_rate'" in bench.requests[1].turns[-1].text


async def test_what_the_optimizer_is_shown(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [{"learning_rate": 1}], meta="Short lines work.")
    await rate(bench, scheduled=77)
    for told in ("16 attempts", "0.625000", "0.700000", "step 1: 4 edits, rejected", "these 3 edits", "# Rules"):
        assert told in bench.prompt
    assert "Short lines work." in bench.prompt
    assert bench.prompt.index('"b"') < bench.prompt.index('"a"') < bench.prompt.index('"c"')
    assert "77" not in bench.prompt, "no default to lean on"


async def test_without_edits_nothing_is_asked(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert await autonomous_rate([], "", EVIDENCE, 4, bench.optimizer) == Rate(0)
    assert bench.requests == []


async def test_suggestions_are_shown_as_what_they_are(tmp_path: Path) -> None:
    said = [("Units: name the unit", "add", 1), ("Order: <skill> first", "clarify", 3)]
    given = [Proposal(Edit(SUGGEST, content=text, reason=kind), support, "failure", 0) for text, kind, support in said]
    bench = Bench(tmp_path, [{"learning_rate": 1}])
    assert (await autonomous_rate(given, "# Rules\n", EVIDENCE, 2, bench.optimizer)).edits == 1
    assert '<suggestion id="e1" type="clarify" source="failure" support="3">Order: &lt;skill> first</suggestion>' in (
        bench.prompt
    )
    assert "The proposed suggestions, of which one rewrite of the document carries out" in bench.prompt
    assert "How many of these 2 suggestions are applied now?" in bench.prompt
    assert SUGGEST not in bench.prompt.replace("suggestion", "")
