"""`skillgit status`, `log` and `rejected` before there is anything to show, and in between."""

from __future__ import annotations

import json

import pytest
from support import cli, repos
from support.place import Place
from support.training import BRANCH, DOCUMENT, SKILL


@pytest.mark.parametrize(
    ("arguments", "text", "value"),
    [
        (("status",), f"{SKILL}: {DOCUMENT}\n  not trained here yet: `skillgit train {SKILL}`\n", None),
        (("log", SKILL), f"{SKILL} was not trained yet: `skillgit train {SKILL}`\n", []),
        (("rejected", "list", SKILL), f"{SKILL} has no rejected candidates\n", []),
    ],
)
def test_before_training(place: Place, arguments: tuple[str, ...], text: str, value: object) -> None:
    assert cli.call(place.root, *arguments) == cli.Done(0, text, "")
    found = json.loads(cli.call(place.root, *arguments, "--json").out)
    if value is not None:
        assert found == value
    else:
        assert (found[0]["branch"], found[0]["best"], found[0]["merged"]) == (None, None, False)


def test_no_skills(place: Place) -> None:
    (place.root / "skillgit.yaml").write_text("version: 1\nskills: {}\n")
    assert cli.call(place.root, "status").out == "skillgit.yaml has no skills: `skillgit init --skill NAME`\n"
    assert json.loads(cli.call(place.root, "status", "--json").out) == []


def test_a_branch_that_nobody_trained_is_not_offered_for_merging(place: Place) -> None:
    place.git("branch", f"skill/{SKILL}")
    assert cli.call(place.root, "status").out.splitlines()[1:] == [
        f"  branch   skill/{SKILL} at {place.git('rev-parse', 'main')[:12]}",
        f"  not trained here yet: `skillgit train {SKILL}`",
    ]


def test_commits_of_people_are_counted_until_they_are_measured(
    place: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place.trained()
    other = tmp_path_factory.mktemp("other") / "w"
    place.git("worktree", "add", "-q", str(other), f"skill/{SKILL}")
    text = (other / DOCUMENT).read_text()
    for number in (1, 2):
        repos.commit(other, {DOCUMENT: f"{text}\nLine {number}.\n"}, "By hand")
    place.git("worktree", "remove", str(other))
    assert "  note     2 commits on the branch are not measured yet\n" in cli.call(place.root, "status").out
    tip = place.git("rev-parse", BRANCH)
    place.trained()
    assert place.git("merge-base", tip, BRANCH) == tip
    assert "not measured yet" not in cli.call(place.root, "status").out


def test_a_run_that_had_nothing_to_do_does_not_hide_what_was_accepted(place: Place) -> None:
    place.configure("num_epochs: 1", "num_epochs: 4")
    first = place.trained()
    assert first["reason"] == "val is at its ceiling"
    line = f"  steps    {first['accepted']} accepted in this run, {first['rejected']} rejected kept"
    assert cli.call(place.root, "status").out.splitlines()[-1] == line
    second = place.trained()
    assert (second["steps"], second["accepted"], int(str(first["accepted"])) > 0) == (0, 0, True)
    out = cli.call(place.root, "status").out.splitlines()
    assert out[-2].startswith(f"  run      {second['run']}, step 0 of ")
    assert out[-1] == line.replace("this run", f"run {first['run']}")
    (found,) = json.loads(cli.call(place.root, "status", "--json").out)
    assert (found["run"], found["accepted_run"]) == (second["run"], first["run"])
    assert found["accepted"] == first["accepted"]
