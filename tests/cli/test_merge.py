"""`skillgit merge`: what it says, and what it refuses before anything moves."""

from __future__ import annotations

import json

import pytest
from support import cli, repos
from support.place import Place
from support.training import BEST, BRANCH, DOCUMENT, SKILL, text_at


@pytest.fixture
def trained(place: Place) -> Place:
    assert place.trained()["accepted"]
    return place


def change(place: Place, old: str, new: str) -> str:
    """A person's commit on the document of the base branch."""
    text = (place.root / DOCUMENT).read_text()
    assert old in text
    return repos.commit(place.root, {DOCUMENT: text.replace(old, new)}, "Reword")


def test_for_people(trained: Place) -> None:
    done = cli.call(trained.root, "merge", SKILL)
    score = json.loads(cli.call(trained.root, "status", "--json").out)[0]["best_score"]
    assert done.out.splitlines() == [
        f"main is at {trained.git('rev-parse', 'main')[:12]}: {DOCUMENT} is the best document, val {score * 100:.1f}%",
        f"the same bytes are in {BEST}",
        f"released as skill/{SKILL}/v1",
    ]
    assert done.err == ""


def test_a_change_of_people_that_fits_is_gated(trained: Place) -> None:
    base = change(trained, "# Tickets", "# All tickets")
    done = cli.call(trained.root, "merge", SKILL, "--into", "main")
    assert done.code == 0, done.err
    assert done.out.startswith("merged with the changes on main: +0.2500 on 8 val tasks, better than the incumbent")
    assert trained.git("log", "-1", "--format=%P", "main").split()[0] == base
    merged = text_at(trained.root, "main")
    assert "# All tickets" in merged
    assert merged == text_at(trained.root, "main", BEST) != text_at(trained.root, BRANCH)


def test_a_conflict_shows_both_sides_and_moves_nothing(trained: Place) -> None:
    change(trained, "Answer with the code.\n", "Answer with the code.\n\n- Something else stands here.\n")
    said = trained.refused("merge", SKILL)
    assert said.startswith(f"{DOCUMENT}: the base branch and the best document changed the same lines; ")
    shown = cli.call(trained.root, "merge", SKILL).err
    assert "<<<<<<<" in shown
    assert "- Something else stands here." in shown
    assert ">>>>>>>" in shown


@pytest.mark.parametrize(
    ("path", "tracked"), [(DOCUMENT, True), (BEST, False)], ids=["a changed document", "an untracked best_skill.md"]
)
def test_what_would_be_lost_is_refused(trained: Place, path: str, tracked: bool) -> None:
    (trained.root / path).write_text("mine\n")
    said = trained.refused("merge", SKILL)
    what = "a local change" if tracked else "an untracked file"
    assert said.startswith(f"{path}: {what} would be overwritten; ")
    assert (trained.root / path).read_text() == "mine\n"


def test_into_the_training_branch_itself(trained: Place) -> None:
    assert trained.refused("merge", SKILL, "--into", f"skill/{SKILL}") == (
        f"skill/{SKILL} is the training branch itself; name the base branch with --into"
    )


def test_into_a_branch_that_is_checked_out_nowhere(trained: Place) -> None:
    trained.git("branch", "other")
    done = json.loads(cli.call(trained.root, "merge", SKILL, "--into", "other", "--json").out)
    assert trained.git("rev-parse", "other") == done["commit"]
    assert trained.git("status", "--porcelain") == ""
    assert not (trained.root / BEST).exists()
