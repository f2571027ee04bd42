"""What of a push is refused by its refs alone."""

from __future__ import annotations

import pytest

from skillgit.errors import UsageError
from skillgit.train.hooks.outgoing import Outgoing, of_framework, parse, refusals

A, B, NONE = "a" * 40, "b" * 40, "0" * 40
SKILL, JOURNAL = "refs/heads/skill/ops", "refs/skillgit/runs/ops/01k9x0c5v2m8q4t7b3n6r1d9sf"
EVIDENCE = "refs/skillgit/evidence/ops/01k9x0c5v2m8q4t7b3n6r1d9sf"


def told(*outgoing: Outgoing, evidence: bool = False, grows: bool = True) -> list[str]:
    return [one.message for one in refusals(outgoing, "origin", evidence=evidence, grows=lambda a, b: grows)]


def test_git_s_lines_are_read() -> None:
    lines = [f"{SKILL} {A} {SKILL} {B}", f"(delete) {NONE} {SKILL} {B}", f"HEAD~1 {A} refs/heads/x {NONE}", ""]
    assert parse(lines) == [
        Outgoing(SKILL, A, SKILL, B),
        Outgoing("(delete)", None, SKILL, B),
        Outgoing("HEAD~1", A, "refs/heads/x", None),
    ]
    assert parse([f"x {'a' * 64} y {'0' * 64}"]) == [Outgoing("x", "a" * 64, "y", None)]
    assert parse([]) == []


@pytest.mark.parametrize("line", ["one", "a b c d", f"x {A} y", f"x {A[:-1]} y {B}"])
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(UsageError, match="no line of git's"):
        parse([line])


def test_what_only_grows_is_fine() -> None:
    assert told(Outgoing(SKILL, A, SKILL, B), Outgoing(SKILL, A, SKILL, None), Outgoing(SKILL, A, SKILL, A)) == []


@pytest.mark.parametrize("ref", [SKILL, JOURNAL])
def test_commits_that_would_be_dropped_are_refused(ref: str) -> None:
    assert told(Outgoing(ref, A, ref, B), grows=False) == [f"{ref} on origin has commits that this push would drop"]
    assert told(Outgoing("main", A, ref, B), grows=False) != []
    assert told(Outgoing("(delete)", None, ref, B)) == [f"{ref} would be deleted on origin"]


RUN = "01k9x0c5v2m8q4t7b3n6r1d9sf"
OWN_TAG = "refs/tags/skill/ops/mine"
RELEASE, EPOCH = "refs/tags/skill/ops/v1", f"refs/tags/skill/ops/{RUN}/epoch-01"
STAY = [*(f"refs/skillgit/{kind}/ops" for kind in ("best", "tasks", "published", "pruned")), RELEASE, EPOCH]


@pytest.mark.parametrize(
    "ref", [f"refs/skillgit/rejected/ops/{RUN}/00001-01", EVIDENCE, "refs/notes/skillgit", "refs/heads/main", OWN_TAG]
)
def test_other_refs_may_go(ref: str) -> None:
    assert told(Outgoing("(delete)", None, ref, B)) == []


@pytest.mark.parametrize("ref", [*STAY, "refs/notes/skillgit", "refs/heads/main"])
def test_refs_that_need_not_grow_may_move(ref: str) -> None:
    assert told(Outgoing(ref, A, ref, B), grows=False) == []


@pytest.mark.parametrize("ref", [SKILL, JOURNAL, *STAY])
def test_what_others_need_is_not_deleted_on_a_remote(ref: str) -> None:
    (reason,) = refusals([Outgoing("(delete)", None, ref, B)], "origin", evidence=False, grows=lambda a, b: True)
    assert reason.message == f"{ref} would be deleted on origin"
    deletes = {
        SKILL: "delete it here (`git branch -D skill/ops`) and leave the remote's, or ",
        RELEASE: "delete it here (`git tag -d skill/ops/v1`) and leave the remote's, or ",
        EPOCH: f"delete it here (`git tag -d skill/ops/{RUN}/epoch-01`) and leave the remote's, or ",
    }
    assert reason.mend.startswith(deletes.get(ref, "leave it there: "))
    assert reason.mend.endswith("or pass by with --no-verify")
    assert told(Outgoing("(delete)", None, ref, None)) == []


@pytest.mark.parametrize("remote", ["origin", "team/origin"])
def test_fetched_copies_of_evidence_are_evidence(remote: str) -> None:
    """`git push --mirror` sends all that is under refs/."""
    ref = EVIDENCE.replace("refs/skillgit/", f"refs/skillgit/remotes/{remote}/")
    for local, other in ((ref, ref), (ref, "refs/heads/main"), ("refs/heads/main", ref)):
        one = Outgoing(local, "a" * 40, other, None)
        assert (one.ours, one.evidence, one.whole) == (True, True, True)
        assert told(one) == ["transcripts of a run would go out"]
    assert not Outgoing(ref.replace("evidence", "runs"), "a" * 40, "x", None).evidence


def test_evidence_goes_out_only_when_asked_for() -> None:
    one = Outgoing(EVIDENCE, A, EVIDENCE, None)
    assert told(one) == ["transcripts of a run would go out"]
    assert told(one, Outgoing(EVIDENCE, A, "refs/heads/x", None)) == ["transcripts of 2 runs would go out"]
    assert told(Outgoing(A, A, EVIDENCE, None)) == ["transcripts of a run would go out"]
    assert told(one, evidence=True) == []
    assert told(Outgoing("(delete)", None, EVIDENCE, A)) == []


def test_ours_is_by_either_end() -> None:
    assert Outgoing("HEAD", A, SKILL, None).ours
    assert Outgoing(SKILL, A, "refs/heads/x", None).ours
    assert Outgoing("x", A, "refs/tags/skill/ops/v1", None).ours
    assert not Outgoing("refs/heads/main", A, "refs/heads/skills", None).ours


def test_the_framework_names_one_ref() -> None:
    names = ("LOCAL_BRANCH", "TO_REF", "REMOTE_BRANCH", "FROM_REF")
    environ = {f"PRE_COMMIT_{name}": value for name, value in zip(names, (SKILL, A, SKILL, B), strict=True)}
    assert of_framework(environ) == [Outgoing(SKILL, A, SKILL, B)]
    assert of_framework({}) == []
