"""Ref names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import repos

from skillgit.store import refs
from skillgit.store.refs import JournalRef, RejectedRef, SkillRefs

RUN = "01k9x0c5v2m8q4t7b3n6r1d9sf"
names = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?", fullmatch=True).filter(
    lambda name: name not in {"con", "prn", "aux", "nul"} and not name.startswith(("com", "lpt"))
)
moments = st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC))


def test_the_names_are_those_of_the_design() -> None:
    skill = SkillRefs("support-triage")
    assert skill.branch == "refs/heads/skill/support-triage"
    assert skill.best == "refs/skillgit/best/support-triage"
    assert skill.published == "refs/skillgit/published/support-triage"
    assert skill.tasks == "refs/skillgit/tasks/support-triage"
    assert skill.journal(RUN) == f"refs/skillgit/runs/support-triage/{RUN}"
    assert skill.evidence(RUN) == f"refs/skillgit/evidence/support-triage/{RUN}"
    assert skill.rejected(RUN, 7, 2) == f"refs/skillgit/rejected/support-triage/{RUN}/00007-02"
    assert skill.epoch_tag(RUN, 3) == f"refs/tags/skill/support-triage/{RUN}/epoch-03"
    assert skill.release_tag(12) == "refs/tags/skill/support-triage/v12"
    assert skill.journal(RUN).startswith(skill.journals_prefix)
    assert skill.rejected(RUN, 7, 2).startswith(skill.rejected_prefix)
    assert skill.release_tag(1).startswith(skill.tags_prefix)
    assert refs.NOTES == "refs/notes/skillgit"


@given(names, st.integers(0, 10**6), st.integers(0, 500))
def test_what_is_written_is_read_back(name: str, step: int, k: int) -> None:
    skill = SkillRefs(name)
    assert refs.parse_rejected(skill.rejected(RUN, step, k)) == RejectedRef(name, RUN, step, k)
    assert refs.parse_journal(skill.journal(RUN)) == JournalRef(name, RUN)


def test_git_takes_every_name(tmp_path: Path) -> None:
    repo = repos.make_repo(tmp_path / "r")
    skill = SkillRefs("a--b")
    every = [skill.branch, skill.best, skill.published, skill.tasks, skill.journal(RUN), skill.evidence(RUN)]
    for ref in [*every, skill.rejected(RUN, 0, 0), skill.epoch_tag(RUN, 100), skill.release_tag(1), refs.NOTES]:
        assert repos.git(repo, "check-ref-format", ref) == ""


@pytest.mark.parametrize("name", ["", "Upper", "a/b", "a..b", "-a", "a-", "con", "lpt1", "a" * 65, "ü", "a\n", "a b"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no skill name"):
        SkillRefs(name)


def test_what_is_no_run_or_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="no run id"):
        SkillRefs("a").journal("../x")
    with pytest.raises(ValueError, match="below"):
        SkillRefs("a").rejected(RUN, -1, 0)
    with pytest.raises(ValueError, match="below"):
        SkillRefs("a").release_tag(0)


@pytest.mark.parametrize(
    "ref",
    [
        f"refs/skillgit/rejected/a/{RUN}/7-02",
        f"refs/skillgit/rejected/a/{RUN}/00007-2",
        f"refs/skillgit/rejected/a/{RUN}/000007-02",
        f"refs/skillgit/rejected/a/{RUN}/00007-002",
        f"refs/skillgit/rejected/con/{RUN}/00007-02",
        f"refs/skillgit/rejected/a-/{RUN}/00007-02",
        f"refs/skillgit/rejected/a/{RUN.upper()}/00007-02",
        f"refs/skillgit/rejected/a/{RUN}/00007-02\n",
        f"refs/skillgit/runs/a/{RUN}",
        f"x/refs/skillgit/rejected/a/{RUN}/00007-02",
    ],
)
def test_a_foreign_ref_is_no_rejected_ref(ref: str) -> None:
    assert refs.parse_rejected(ref) is None


@pytest.mark.parametrize("ref", ["refs/skillgit/runs/a/x", f"refs/skillgit/runs/nul/{RUN}", f"refs/heads/{RUN}", ""])
def test_a_foreign_ref_is_no_journal(ref: str) -> None:
    assert refs.parse_journal(ref) is None


def test_a_known_ulid() -> None:
    # The time part of the ULID specification's own example is 1469918176385 ms.
    now = datetime.fromtimestamp(1469918176.385, UTC)
    assert refs.new_run_id(now, bytes(10)) == "01aryz6s41" + "0" * 16
    assert refs.new_run_id(now, b"\xff" * 10) == "01aryz6s41" + "z" * 16


@given(moments, st.binary(min_size=10, max_size=10), moments, st.binary(min_size=10, max_size=10))
def test_run_ids_sort_by_time(now: datetime, dice: bytes, then: datetime, other: bytes) -> None:
    first, second = refs.new_run_id(now, dice), refs.new_run_id(then, other)
    assert refs.is_run_id(first)
    if abs(now - then) >= timedelta(milliseconds=2):
        assert (first < second) == (now < then)


def test_a_run_id_needs_a_zone_and_ten_bytes() -> None:
    with pytest.raises(ValueError, match="zone"):
        refs.new_run_id(datetime(2026, 1, 1), bytes(10))
    with pytest.raises(ValueError, match="10 bytes"):
        refs.new_run_id(datetime(2026, 1, 1, tzinfo=UTC), bytes(9))


@pytest.mark.parametrize("text", ["", RUN[:-1], RUN + "0", RUN.upper(), "8" + RUN[1:], "01k9x0c5v2m8q4t7b3n6r1d9su"])
def test_what_is_no_run_id(text: str) -> None:
    assert not refs.is_run_id(text)


def test_when_a_run_was_begun() -> None:
    now = datetime(2026, 11, 30, 9, 13, 54, 123000, tzinfo=UTC)
    assert refs.run_time(refs.new_run_id(now, bytes(10))) == now
    with pytest.raises(ValueError, match="no run id"):
        refs.run_time("short")
