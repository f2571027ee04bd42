"""What a commit says of itself counts only where it has the document that it is about."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import repos

from skillgit.store.commits import CommitInfo
from skillgit.store.repository import Repository
from skillgit.store.trailers import format_message
from skillgit.train.archive.told import MOST_EDITS, Trailers, chain_of, date_of, record_of

RUN = "01k9x0c5v2m8q4t7b3n6r1d9sf"
BLOB = "5f" * 20
TRAILERS = [
    ("Skill-Name", "topics"),
    ("Skill-Run", RUN),
    ("Skill-Step", "7"),
    ("Skill-Epoch", "2"),
    ("Skill-Kind", "slow-update"),
    ("Skill-Edit", "2/2 append"),
    ("Skill-Decision", "reject"),
    ("Skill-Score-Max", "0.729167"),
    ("Skill-Score-Before", "0.750000"),
    ("Skill-Blob", BLOB),
    ("Skill-Target", "openai/sim"),
    ("Skill-Cost", "calls=212 tokens=182340 usd=0.43"),
]


def commit(*pairs: tuple[str, str]) -> CommitInfo:
    message = format_message("s", "b", list(pairs or TRAILERS))
    return CommitInfo("c" * 40, "t" * 40, (), message, "A <a@example.com>", 0, "A <a@example.com>", 0)


def test_a_record_of_trailers() -> None:
    record = record_of(commit(), BLOB)
    assert (record.kind, record.step, record.epoch, record.decision) == ("slow-update", 7, 2, "reject")
    assert (record.score, record.document, record.commits) == (None, BLOB, ["c" * 40])
    assert Fraction(str(record.maximum)) == Fraction("0.729167")
    assert Fraction(str(record.before)) == Fraction(3, 4)
    assert record.cost == {"calls": 212, "tokens": 182340, "usd": "0.43"}
    assert record.models["target"] == "openai/sim"


@pytest.mark.parametrize("blob", ["6f" * 20, None])
def test_no_score_of_another_document(blob: str | None) -> None:
    record = record_of(commit(), blob)
    assert (record.score, record.maximum, record.before, record.score_hard, record.score_soft) == (None,) * 5


@pytest.mark.parametrize(
    "text", ["", "-0.5", "1.5", "nan", "inf", "0x1", "1/2", "1e-3", "0,5", "٠.5", "2", "0." + "1" * 99]
)
def test_what_is_no_score_is_none(text: str) -> None:
    assert Trailers(format_message("s", "b", [("Skill-Score", text)])).number("Skill-Score") is None


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_whatever_people_write_is_read_or_passed_over(step: str, edit: str, score: str, cost: str) -> None:
    pairs = [("Skill-Step", step), ("Skill-Edit", edit), ("Skill-Score", score), ("Skill-Cost", cost)]
    record = record_of(commit(*pairs, ("Skill-Blob", BLOB)), BLOB)
    assert record.score is None or 0 <= Fraction(record.score) <= 1
    assert 0 <= record.step < 10**9


def test_the_commits_of_a_candidate(tmp_path: Path) -> None:
    root = repos.make_repo(tmp_path / "r", {"a": "0"})
    oids = [repos.commit(root, {"a": str(n)}, f"s\n\nSkill-Edit: {n}/3 append\n") for n in (1, 2, 3)]
    repo = Repository.open(root)
    assert chain_of(repo, repo.objects.read_commit(oids[2])) == oids
    assert chain_of(repo, repo.objects.read_commit(oids[1])) == [oids[1]], "not its last one"
    alone = repos.commit(root, {"a": "x"}, "s\n\nSkill-Edit: 9999/9999 append\n")
    assert len(chain_of(repo, repo.objects.read_commit(alone))) == 5 < MOST_EDITS


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "1970-01-01T00:00:00+00:00"), (1767323045, "2026-01-02T03:04:05+00:00"), (10**18, ""), (-(10**18), "")],
)
def test_dates(seconds: int, text: str) -> None:
    assert date_of(seconds) == text
