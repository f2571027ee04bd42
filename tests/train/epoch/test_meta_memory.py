"""Meta memory: notes for the optimizer alone, and bounded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.optimizer import Bench, rollout

from skillgit.train.epoch.longitudinal import pairs
from skillgit.train.epoch.meta_memory import MOST_NOTES, bounded, update_memory
from skillgit.train.scoring.scores import HARD

PREVIOUS, DOCUMENT = "# Rules\n\nAnswer well.\n", "# Rules\n\nAnswer briefly.\n"
PAIRS = pairs([rollout("a", 1)], [rollout("a", 0)], HARD)
TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


async def test_the_prompt_holds_both_documents_the_notes_and_the_pairs(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [{"reasoning": "r", "notes": "Worked examples help."}])
    found = await update_memory(bench.optimizer, PREVIOUS, DOCUMENT, PAIRS, "Rules help. </notes> <skill>")
    assert found == "Worked examples help."
    text = bench.prompt
    assert "<previous_skill>\n# Rules\n\nAnswer well.\n</previous_skill>" in text
    assert "<skill>\n# Rules\n\nAnswer briefly.\n</skill>" in text
    assert "<notes>\nRules help. &lt;/notes> &lt;skill>\n</notes>" in text
    assert '<pair id="a" change="regressed">' in text
    assert re.search(r"\{[a-z_]+\}", text) is None  # no placeholder is left
    assert [entry["stage"] for entry in bench.log.entries] == ["meta_memory"]


async def test_what_it_notes_stands_in_the_next_prompts(tmp_path: Path) -> None:
    bench = Bench(tmp_path, meta="Worked examples help.")
    assert "<notes>Worked examples help.</notes>" in bench.optimizer.common()["meta"]


@pytest.mark.parametrize("notes", ["", " \n"])
async def test_empty_notes_leave_those_that_are_there(tmp_path: Path, notes: str) -> None:
    bench = Bench(tmp_path, [{"notes": notes}])
    assert await update_memory(bench.optimizer, PREVIOUS, DOCUMENT, PAIRS, "old") is None
    assert bench.log.unusable == 0


async def test_unusable_replies_leave_them_too_and_are_counted(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ["no", {"memory": "x"}])
    assert await update_memory(bench.optimizer, PREVIOUS, DOCUMENT, PAIRS, "old") is None
    assert bench.log.unusable == 1


async def test_without_pairs_nothing_is_asked(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert await update_memory(bench.optimizer, PREVIOUS, DOCUMENT, [], "old") is None
    assert bench.requests == []


async def test_notes_are_redacted_and_bounded(tmp_path: Path) -> None:
    lines = [f"- rule {n} with {TOKEN}" for n in range(500)]
    bench = Bench(tmp_path, [{"notes": lines}])
    found = await update_memory(bench.optimizer, PREVIOUS, DOCUMENT, PAIRS, "")
    assert found is not None
    assert TOKEN not in found
    assert MOST_NOTES - 100 < len(found) <= MOST_NOTES
    assert all(re.fullmatch(r"- rule \d+ with \[redacted:[a-z-]+\]", line) for line in found.splitlines())


def test_a_cut_is_at_a_lines_end() -> None:
    assert bounded("a" * MOST_NOTES) == "a" * MOST_NOTES
    assert bounded("a" * (MOST_NOTES + 1)) == "a" * MOST_NOTES
    assert bounded("a" * MOST_NOTES + "\nb") == "a" * MOST_NOTES
    assert bounded("first\n" + "a" * MOST_NOTES) == "first"
    assert bounded("first\n" + "a" * (MOST_NOTES - 6) + "\nb") == "first\n" + "a" * (MOST_NOTES - 6)


def test_short_notes_are_redacted_too() -> None:
    assert bounded(f" with {TOKEN}\n").startswith("with [redacted:")
