"""Refspecs for many refs, tried by git itself in the commands' tests; here: how many, and of which form."""

from __future__ import annotations

import pytest
from support.sharing import LATER, RUN

from skillgit.store.refs import SkillRefs
from skillgit.store.sync.namespaces import Kind, Shared, prefix_of, shared, tracking
from skillgit.store.sync.push_plan import Send
from skillgit.store.sync.refspecs import batches, for_fetch, for_push, room

REFS = SkillRefs("x")


def one(ref: str) -> Shared:
    found = shared(ref)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("ref", "kind"),
    [
        ("refs/heads/skill/x", Kind.BRANCH),
        ("refs/skillgit/best/x", Kind.BEST),
        ("refs/skillgit/published/x", Kind.PUBLISHED),
        ("refs/skillgit/tasks/x", Kind.TASKS),
        (f"refs/skillgit/runs/x/{RUN}", Kind.JOURNAL),
        (f"refs/skillgit/evidence/x/{RUN}", Kind.EVIDENCE),
        (f"refs/skillgit/rejected/x/{RUN}/00001-01", Kind.REJECTED),
        (f"refs/tags/skill/x/{RUN}/epoch-01", Kind.TAG),
        ("refs/tags/skill/x/v12", Kind.TAG),
        ("refs/heads/main", None),
        ("refs/heads/skill/x/y", None),
        ("refs/heads/skill/X", None),
        ("refs/tags/skill/x/v0", None),
        ("refs/tags/skill/x/mine", None),
        ("refs/tags/skill/x/nobody/epoch-01", None),
        ("refs/skillgit/pruned/x", Kind.PRUNED),
        ("refs/skillgit/pruned/X", None),
        ("refs/skillgit/remotes/origin/best/x", None),
        ("refs/skillgit/best/con", None),
        (f"refs/skillgit/rejected/x/{RUN}/1-1", None),
        (f"refs/skillgit/evidence/con/{RUN}", None),
        ("refs/notes/skillgit", None),
    ],
)
def test_what_travels(ref: str, kind: Kind | None) -> None:
    found = shared(ref)
    assert (found.kind if found else None) is kind
    assert found is None or found.name == "x"


def test_where_copies_stand() -> None:
    assert tracking("hub", one("refs/heads/skill/x")) == "refs/remotes/hub/skill/x"
    assert tracking("hub", one("refs/skillgit/best/x")) == "refs/skillgit/remotes/hub/best/x"
    assert tracking("hub", one(REFS.journal(RUN))) == f"refs/skillgit/remotes/hub/runs/x/{RUN}"
    for ref in (REFS.rejected(RUN, 1, 1), REFS.release_tag(1)):
        assert tracking("hub", one(ref)) == ref
    assert prefix_of(one(REFS.best)) == REFS.best
    assert prefix_of(one(REFS.rejected(RUN, 1, 1))) == "refs/skillgit/rejected/x/"


def sends(*refs: str) -> list[Send]:
    return [Send(one(ref), None, f"{number:040x}", "create") for number, ref in enumerate(refs)]


def test_few_refs_are_pinned() -> None:
    send = sends(REFS.branch, REFS.best, REFS.rejected(RUN, 1, 1))
    assert for_push(send, []) == [f"{s.new}:{s.what.ref}" for s in send]


def test_the_largest_folders_become_wildcards_until_it_fits() -> None:
    rejected = [REFS.rejected(RUN, step, 1) for step in range(1, 301)]
    journals = [REFS.journal(f"{RUN[:-2]}{a}{b}") for a in "0123456789" for b in "0123456789"]
    send = sends(REFS.branch, *journals, *rejected)
    found = for_push(send, [REFS.rejected(LATER, 1, 1), "refs/tags/skill/x/v3"])
    assert found[0] == f"{send[0].new}:{REFS.branch}"
    assert found[1:101] == [f"{s.new}:{s.what.ref}" for s in send[1:101]]
    assert found[101:] == [
        "refs/skillgit/rejected/x/*:refs/skillgit/rejected/x/*",
        f"^{REFS.rejected(LATER, 1, 1)}",
    ]
    small = for_push(send, [], most=1000)
    assert len(small) == 3
    assert all(part.endswith("*") for part in small[1:])


def test_branch_and_best_are_never_wildcards() -> None:
    send = sends(REFS.branch, REFS.best, REFS.rejected(RUN, 1, 1))
    assert for_push(send, [], most=1)[:2] == [f"{s.new}:{s.what.ref}" for s in send[:2]]


def test_a_fetch_names_each_until_there_are_many() -> None:
    few = [(one(REFS.rejected(RUN, step, 1)), REFS.rejected(RUN, step, 1)) for step in range(1, 4)]
    copy = (one(REFS.best), "refs/skillgit/remotes/o/best/x")
    assert for_fetch([copy, *few], [ref for _, ref in few]) == [
        f"+{REFS.best}:refs/skillgit/remotes/o/best/x",
        *(f"{ref}:{ref}" for _, ref in few),
    ]
    many = [(one(REFS.rejected(RUN, step, 1)), REFS.rejected(RUN, step, 1)) for step in range(1, 201)]
    theirs = [*(ref for _, ref in many), REFS.rejected(LATER, 1, 1)]
    assert for_fetch(many, theirs) == [
        "refs/skillgit/rejected/x/*:refs/skillgit/rejected/x/*",
        f"^{REFS.rejected(LATER, 1, 1)}",
    ]
    pruned = [REFS.rejected(LATER, step, 1) for step in range(1, 300)]
    assert len(for_fetch(many, [*theirs, *pruned])) == 200, "fewer than what would have to be left out"


def test_batches_hold_whole_parts() -> None:
    parts = [(f"--lease={n:03d}", f":{n:03d}") for n in range(7)]  # 11 + 4 bytes, and 9 more each: 33 a part
    found = list(batches(parts, most=100))
    assert [len(batch) for batch in found] == [6, 6, 2]
    assert [word for batch in found for word in batch] == [word for part in parts for word in part]
    assert list(batches([("x" * 500,)], most=100)) == [["x" * 500]]
    assert list(batches([], most=100)) == []
    assert 6_000 <= room() <= 256_000
