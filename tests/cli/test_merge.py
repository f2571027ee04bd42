"""`skillgit merge`: what it says, and what it refuses before anything moves."""

from __future__ import annotations

import json
import re

import pytest
from support import cli, repos
from support.place import WORLD, Place
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


def conflict(place: Place) -> str:
    """A person's line where training appended its own; the subject would move the cursor."""
    text = (place.root / DOCUMENT).read_text()
    return repos.commit(place.root, {DOCUMENT: text + "\n- Something else stands here.\n"}, "Re\x1b[31mword")


def test_a_conflict_as_json_has_both_sides_with_their_reasons(trained: Place) -> None:
    commit = conflict(trained)
    done = cli.call(trained.root, "merge", SKILL, "--json")
    assert done.code == 2
    told = json.loads(done.out)
    assert (told["skill"], told["commit"], len(told["conflicts"])) == (SKILL, None, 1)
    (one,) = told["conflicts"]
    assert one["ours"]["text"].strip() == "- Something else stands here."
    assert [origin["commit"] for origin in one["ours"]["commits"]] == [commit]
    steps = {origin["step"] for origin in one["theirs"]["commits"]}
    assert steps <= {entry["step"] for entry in json.loads(cli.call(trained.root, "log", SKILL, "--json").out)}
    assert "<<<<<<<" not in done.err
    assert done.last.endswith(f"--resolve, or merge main into skill/{SKILL} by hand")


def test_what_brought_the_lines_is_said_without_control_characters(trained: Place) -> None:
    commit = conflict(trained)
    done = cli.call(trained.root, "merge", SKILL)
    assert f"main: {commit[:12]} Re\\x1b[31mword (Test Person)" in done.err.splitlines()
    assert "\x1b" not in done.err
    assert re.search(rf"^skill/{SKILL}: [0-9a-f]{{12}} step \d+, \+0\.\d{{4}}: the .* came up$", done.err, re.MULTILINE)


def test_a_conflict_that_the_optimizer_settles(trained: Place) -> None:
    conflict(trained)
    done = cli.call(trained.root, "merge", SKILL, "--resolve")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "conflicts settled by the optimizer: Both."
    assert lines[1].startswith("merged with the changes on main: +")
    score = trained.git("log", "-1", "--format=%(trailers:key=Skill-Score,valueonly)", "main").strip()
    tip = trained.git("rev-parse", "main")[:12]
    shown = f"main is at {tip}: {DOCUMENT} is a new document, val {float(score) * 100:.1f}%"
    assert lines[2:] == [shown, f"the same bytes are in {BEST}", f"released as skill/{SKILL}/v1"]
    assert "- Something else stands here." in text_at(trained.root, "main")


def test_what_a_merge_did_as_json(trained: Place) -> None:
    change(trained, "# Tickets", "# All tickets")
    told = json.loads(cli.call(trained.root, "merge", SKILL, "--json").out)
    assert told["tag"] == f"refs/tags/skill/{SKILL}/v1"
    assert told["commit"] == trained.git("rev-parse", "main")
    assert (told["score"], told["before"]) == (0.25, 0.0)
    assert told["reason"].startswith("+0.2500 on 8 val tasks")
    assert (told["below_best"], told["resolution"]) == (None, None)
    again = json.loads(cli.call(trained.root, "merge", SKILL, "--json").out)
    assert (again["commit"], again["tag"]) == (None, None)


def test_no_tag(trained: Place) -> None:
    done = cli.call(trained.root, "merge", SKILL, "--no-tag")
    assert "released" not in done.out
    assert trained.git("tag", "-l", "skill/*/v*") == ""


def fork(place: Place, old: str, new: str) -> str:
    """Another training branch, from the base, with a changed document."""
    place.git("checkout", "-q", "-b", "fork")
    commit = change(place, old, new)
    place.git("checkout", "-q", "main")
    return commit


def test_another_training_branch(trained: Place) -> None:
    """It knows one code more than training found of the four."""
    known = text_at(trained.root, BRANCH)
    rule = next(WORLD.rule(topic) for topic in WORLD.codes if topic not in known)
    commit = fork(trained, "# Tickets", f"{rule}\n\n# Tickets")
    done = cli.call(trained.root, "merge", SKILL, "fork", "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert (told["kind"], told["decision"], told["before"], told["score"]) == ("merge", "accept-best", 0.25, 0.5)
    assert told["commits"] == [trained.git("rev-parse", BRANCH)]
    assert trained.git("rev-parse", f"{BRANCH}^2") == commit


def test_another_training_branch_that_brings_nothing_is_kept_as_rejected(trained: Place) -> None:
    fork(trained, "# Tickets", "# All tickets")
    tip = trained.git("rev-parse", BRANCH)
    said = trained.refused("merge", SKILL, "fork", calls=True, moved=True)
    assert said.startswith("the gate did not accept it (reject): val 25.0% -> at most ")
    (ref,) = [ref for ref in repos.refs(trained.root, "refs/skillgit/rejected/") if ref in said]
    assert trained.git("rev-parse", f"{ref}^1") == trained.git("rev-parse", BRANCH) == tip


def test_a_branch_that_is_merged_already(trained: Place) -> None:
    done = cli.call(trained.root, "merge", SKILL, "main")
    assert done.out == f"skill/{SKILL} already has all of main\n"
    assert json.loads(cli.call(trained.root, "merge", SKILL, "main", "--json").out) == {
        "skill": SKILL,
        "other": "main",
        "commit": None,
        "reason": f"skill/{SKILL} already has all of main",
    }


def test_a_branch_whose_document_is_the_same_is_not_called_merged(trained: Place) -> None:
    tree = trained.git("rev-parse", f"{BRANCH}^{{tree}}")
    trained.git("update-ref", "refs/heads/fork", trained.git("commit-tree", tree, "-p", BRANCH, "-m", "Nothing"))
    done = cli.call(trained.root, "merge", SKILL, "fork")
    assert (
        done.out == f"fork brings nothing for {DOCUMENT}: merged with it, skill/{SKILL} would have the same document\n"
    )


@pytest.mark.parametrize("ref", ["refs/heads/skill/second", "refs/remotes/origin/skill/second"])
@pytest.mark.parametrize("own", [True, False], ids=["with commits", "at the base"])
def test_the_branch_of_another_skill_is_called_so(trained: Place, ref: str, own: bool) -> None:
    config = trained.root / "skillgit.yaml"
    text = config.read_text()
    block = text[text.index(f"  {SKILL}:\n") :]
    config.write_text(text + block.replace(f"  {SKILL}:", "  second:").replace(DOCUMENT, "second/SKILL.md"))
    tip = trained.git("rev-parse", "main")
    if own:
        tip = trained.git("commit-tree", "main^{tree}", "-p", "main", "-m", "Of the second")
    trained.git("update-ref", ref, tip)
    other = ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")
    done = cli.call(trained.root, "merge", SKILL, other)
    assert done.out == f"{other} is the training branch of second: it brings nothing for {DOCUMENT} of {SKILL}\n"


def test_a_document_that_nobody_measured_is_called_so(trained: Place) -> None:
    """By merge, by status and by the release; until it is measured."""
    taken = next(row for row in json.loads(cli.call(trained.root, "log", SKILL, "--json").out) if row["commits"][1:])
    assert cli.call(trained.root, "revert", SKILL, f"{taken['step']}.1", "--no-gate").code == 0
    best = trained.git("rev-parse", f"refs/skillgit/best/{SKILL}")[:12]
    unmeasured = f"not measured: `skillgit eval {SKILL} --split val` does that"
    assert f"  best     {best}, {unmeasured}\n" in cli.call(trained.root, "status").out
    done = cli.call(trained.root, "merge", SKILL)
    assert done.out.splitlines() == [
        f"main is at {trained.git('rev-parse', 'main')[:12]}: {DOCUMENT} is the best document",
        unmeasured,
        f"the same bytes are in {BEST}",
        f"released as skill/{SKILL}/v1",
    ]
    told = trained.git("for-each-ref", "--format=%(contents:body)", f"refs/tags/skill/{SKILL}/v1").splitlines()
    assert told[:2] == ["document     score", "released  not measured"]
    assert "not measured" in trained.git("log", "-1", "--format=%b", "main")
    assert cli.call(trained.root, "eval", SKILL, "--split", "val").code == 0
    (found,) = json.loads(cli.call(trained.root, "status", "--json").out)
    (fact,) = [json.loads(cli.call(trained.root, "eval", SKILL, "--split", "val", "--json").out)]
    assert found["best_score"] == fact["hard"]
    assert f"  best     {best}, val {fact['hard'] * 100:.1f}%\n" in cli.call(trained.root, "status").out


def test_a_release_that_was_gone_back_to_has_the_score_that_a_journal_knows(trained: Place) -> None:
    """Measured in an earlier run, which the newest one's state does not keep."""
    first = json.loads(cli.call(trained.root, "merge", SKILL, "--json").out)["score"]
    trained.configure("num_epochs: 1", "num_epochs: 4")
    assert trained.trained()["accepted"]
    trained.trained()  # this run has never seen the first one's document
    second = json.loads(cli.call(trained.root, "merge", SKILL, "--json").out)["score"]
    assert first < second
    done = cli.call(trained.root, "rollback", SKILL, "--to", "v1", "--json")
    assert json.loads(done.out)["score"] is None
    (found,) = json.loads(cli.call(trained.root, "status", "--json").out)
    assert found["best_score"] == first
    done = cli.call(trained.root, "merge", SKILL)
    assert f"is the best document, val {first * 100:.1f}%" in done.out
    assert trained.git("log", "-1", "--format=%(trailers:key=Skill-Score,valueonly)", "main").strip() == f"{first:.6f}"
    assert cli.call(trained.root, "verify", SKILL).code == 0


def test_what_is_refused_of_another_branch(trained: Place) -> None:
    assert trained.refused("merge", SKILL, "nowhere").startswith("nowhere: no such revision; ")
    for option in (("--into", "main"), ("--no-tag",)):
        assert "are for the base branch" in trained.refused("merge", SKILL, "main", *option)


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
