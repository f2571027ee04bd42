"""What a push sends and a fetch moves, decided from values alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sharing import LATER, RUN

from skillgit.store.refs import SkillRefs
from skillgit.store.sync.fetch_plan import Forward, plan_fetch, plan_forward
from skillgit.store.sync.namespaces import Shared, shared, tracking
from skillgit.store.sync.push_plan import PushPlan, plan_push
from skillgit.store.sync.sides import Relation

REFS = SkillRefs("x")
ORDER = "abcdef"
"""Commits of one line, older first; capitals are of another one, and "?" is not here."""


class Line:
    """Ancestry by the alphabet."""

    def relation(self, ours: str, theirs: str) -> Relation:
        if ours == theirs:
            return Relation.SAME
        if "?" in (ours, theirs):
            return Relation.UNKNOWN
        if ours.isupper() != theirs.isupper():
            return Relation.DIVERGED
        return Relation.AHEAD if ours > theirs else Relation.BEHIND

    def lacking(self, ours: str, theirs: str) -> int:
        return 1


def known(refs: dict[str, str]) -> dict[Shared, str]:
    return {one: oid for ref, oid in refs.items() if (one := shared(ref)) is not None}


def push(ours: dict[str, str], theirs: dict[str, str], later: tuple[str, str] | None = None, *gone: str) -> PushPlan:
    def supersedes(name: str, old: str, new: str) -> bool:
        return (old, new) == later

    return plan_push("o", known(ours), known(theirs), Line(), supersedes, {"x": frozenset(gone)})


@pytest.mark.parametrize("ref", [REFS.branch, REFS.journal(RUN), REFS.evidence(RUN)])
@pytest.mark.parametrize(
    ("ours", "theirs", "action"),
    [("b", None, "create"), ("b", "b", None), ("b", "a", "forward"), ("a", "b", "refused"), ("a", "B", "refused"),
     ("a", "?", "refused")],
)  # fmt: skip
def test_what_only_grows(ref: str, ours: str, theirs: str | None, action: str | None) -> None:
    plan = push({ref: ours}, {ref: theirs} if theirs else {})
    assert [one.action for one in plan.send] == ([action] if action in ("create", "forward") else [])
    assert bool(plan.refused) == (action == "refused")
    assert plan.notes == []


@pytest.mark.parametrize("ref", [REFS.published, REFS.tasks])
@pytest.mark.parametrize(
    ("theirs", "action", "said"),
    [(None, "create", 0), ("c", None, 0), ("b", "forward", 0), ("d", None, 0), ("B", None, 1), ("?", None, 1)],
)
def test_what_may_stay_apart(ref: str, theirs: str | None, action: str | None, said: int) -> None:
    plan = push({ref: "c"}, {ref: theirs} if theirs else {})
    assert [one.action for one in plan.send] == ([action] if action else [])
    assert (len(plan.notes), plan.refused) == (said, [])


@pytest.mark.parametrize(
    ("ours", "theirs", "later", "action", "said", "refused"),
    [
        ("b", None, None, "create", 0, 0),
        ("b", "b", None, None, 0, 0),
        ("b", "a", None, "forward", 0, 0),
        ("b", "a", ("b", "a"), None, 0, 0),  # theirs was put back to an older one after ours
        ("a", "b", None, None, 0, 0),
        ("a", "b", ("b", "a"), "move", 0, 0),
        ("a", "B", None, None, 1, 0),
        ("a", "B", ("B", "a"), "move", 0, 0),
        ("a", "?", ("?", "a"), None, 0, 1),
    ],
)
def test_best_goes_where_a_training_put_it(
    ours: str, theirs: str | None, later: tuple[str, str] | None, action: str | None, said: int, refused: int
) -> None:
    plan = push({REFS.best: ours}, {REFS.best: theirs} if theirs else {}, later)
    assert [one.action for one in plan.send] == ([action] if action else [])
    assert (len(plan.notes), len(plan.refused)) == (said, refused)


@pytest.mark.parametrize("ref", [REFS.rejected(RUN, 1, 1), REFS.release_tag(1), REFS.epoch_tag(RUN, 1)])
def test_what_never_changes(ref: str) -> None:
    assert [one.action for one in push({ref: "b"}, {}).send] == ["create"]
    assert push({ref: "b"}, {ref: "b"}).same == 1
    assert len(push({ref: "b"}, {ref: "a"}).refused) == 1
    assert push({ref: "b"}, {ref: "a"}, None, ref).refused == [], "what was pruned here is not ours to send"
    assert push({ref: "b"}, {}, None, ref).send == []


def test_the_branch_is_refused_first_and_what_only_they_have_is_theirs() -> None:
    plan = push({REFS.journal(RUN): "a", REFS.branch: "a"}, {REFS.journal(RUN): "B", REFS.branch: "B"})
    assert [error.message.split()[1] for error in plan.refused] == ["skill/x", f"runs/x/{RUN}"]
    assert push({}, {REFS.branch: "a", REFS.best: "a"}) == PushPlan()


def test_a_fetch_gets_what_differs_into_its_place() -> None:
    rejected, pruned, conflict = (REFS.rejected(RUN, step, 1) for step in (1, 2, 3))
    theirs = known({REFS.branch: "b", REFS.best: "b", rejected: "a", pruned: "a", conflict: "a"})
    copy = tracking("o", next(one for one in theirs if one.ref == REFS.best))
    plan = plan_fetch("o", {copy: "b", conflict: "b", REFS.branch: "a"}, theirs, "n", {"x": frozenset({pruned})})
    assert {(get.what.ref, get.place, get.old) for get in plan.get} == {
        (REFS.branch, "refs/remotes/o/skill/x", None),
        (rejected, rejected, None),
    }
    assert ([one.ref for one in plan.conflicts], plan.pruned, plan.notes) == ([conflict], 1, True)
    assert not plan_fetch("o", {"refs/skillgit/remotes/o/notes": "n"}, {}, "n", {}).notes
    assert not plan_fetch("o", {}, {}, None, {}).notes


def forward(
    ours: dict[str, str], fetched: dict[str, str], later: tuple[str, str] | None = None, at: Path | None = None
) -> Forward:
    def supersedes(name: str, old: str, new: str) -> bool:
        return (old, new) == later

    return plan_forward("o", "x", ours, known(fetched), Line(), supersedes, at)


def moved(plan: Forward) -> dict[str, tuple[str | None, str | None]]:
    return {update.ref: (update.old, update.new) for update in plan.updates}


JOURNAL, SECOND = REFS.journal(RUN), REFS.journal(LATER)
THEIRS = {REFS.branch: "c", REFS.best: "c", JOURNAL: "c", SECOND: "a", REFS.published: "c", REFS.tasks: "c"}


def test_all_that_is_behind_moves_the_journals_first() -> None:
    plan = forward({REFS.branch: "b", REFS.best: "a", JOURNAL: "b", REFS.published: "b", REFS.tasks: "b"}, THEIRS)
    assert moved(plan) == {
        JOURNAL: ("b", "c"),
        SECOND: (None, "a"),
        REFS.best: ("a", "c"),
        REFS.published: ("b", "c"),
        REFS.tasks: ("b", "c"),
        REFS.branch: ("b", "c"),
    }
    assert {update.ref for update in plan.updates[:2]} == {JOURNAL, SECOND}
    assert plan.notes == []


def test_without_a_branch_here_training_makes_it() -> None:
    plan = forward({}, THEIRS)
    assert moved(plan) == {ref: (None, oid) for ref, oid in THEIRS.items() if ref != REFS.branch}


def test_where_a_branch_that_is_behind_has_to_stay_so_do_journals_and_best() -> None:
    plan = forward({REFS.branch: "b", REFS.best: "a", JOURNAL: "b"}, THEIRS, at=Path("there"))
    assert moved(plan) == {REFS.published: (None, "c"), REFS.tasks: (None, "c")}
    assert len(plan.notes) == 1


@pytest.mark.parametrize("branch", ["B", "?"])
def test_where_branches_have_gone_apart_journals_come_and_best_is_left_to_training(branch: str) -> None:
    plan = forward({REFS.branch: branch, REFS.best: "a", JOURNAL: "b"}, THEIRS, ("a", "c"), Path("there"))
    assert moved(plan) == {
        JOURNAL: ("b", "c"),
        SECOND: (None, "a"),
        REFS.published: (None, "c"),
        REFS.tasks: (None, "c"),
    }
    assert len(plan.notes) == 1


@pytest.mark.parametrize("branch", ["c", "d"])
def test_a_branch_that_need_not_move_may_be_checked_out(branch: str) -> None:
    plan = forward({REFS.branch: branch, JOURNAL: "b"}, THEIRS, at=Path("there"))
    assert moved(plan)[JOURNAL] == ("b", "c")
    assert REFS.branch not in moved(plan)
    assert plan.notes == []


@pytest.mark.parametrize(
    ("ours", "later", "new", "said"),
    [
        (None, None, "c", 0),
        ("c", None, None, 0),
        ("b", None, "c", 0),
        ("b", ("c", "b"), None, 0),  # ours was put back to an older one after theirs
        ("d", None, None, 0),
        ("d", ("d", "c"), "c", 0),
        ("D", None, None, 1),
        ("D", ("D", "c"), "c", 0),
        ("D", ("c", "D"), None, 0),
    ],
)
def test_best_follows_the_journals(ours: str | None, later: tuple[str, str] | None, new: str | None, said: int) -> None:
    plan = forward({REFS.branch: "c"} | ({REFS.best: ours} if ours else {}), {REFS.branch: "c", REFS.best: "c"}, later)
    assert moved(plan) == ({REFS.best: (ours, new)} if new else {})
    assert len(plan.notes) == said
