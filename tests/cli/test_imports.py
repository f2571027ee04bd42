"""`skillgit import skillopt`: what it says, what it refuses, and what the other commands make of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import cli, repos
from support.place import Place
from support.skillopt import Run
from support.training import BRANCH, DOCUMENT, SKILL, text_at

GO_ON = f"`skillgit train {SKILL}` goes on from there, and measures it on its own val tasks first"


@pytest.fixture
def folder(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


def run_of(place: Place) -> str:
    """The run's id, as git lists it."""
    (ref,) = repos.refs(place.root, f"refs/skillgit/runs/{SKILL}/")
    return ref.rpartition("/")[2]


def test_for_people(place: Place, folder: Run) -> None:
    done = cli.call(place.root, "import", "skillopt", str(folder.root))
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        f"imported 6 steps as run {run_of(place)} of {SKILL}: 4 accepted, 3 rejected, 3 epochs",
        f"best document: step 6 at {place.git('rev-parse', BRANCH)[:12]}, val 75.0% by SkillOpt",
        GO_ON,
    ]
    again = cli.call(place.root, "import", "skillopt", str(folder.root))
    assert again.out == f"already here: run {run_of(place)} of {SKILL}; nothing moved\n"


def test_for_programs(place: Place, folder: Run) -> None:
    found = json.loads(cli.call(place.root, "import", "skillopt", str(folder.root), "--json").out)
    digest = found.pop("digest")
    tip = place.git("rev-parse", BRANCH)
    assert (
        place.git("log", "-1", "--format=%(trailers:key=Skill-Val,valueonly)", BRANCH).strip() == f"skillopt:{digest}"
    )
    assert found == {
        "skill": SKILL,
        "document": DOCUMENT,
        "run": run_of(place),
        "here": False,
        "dry_run": False,
        "tip": tip,
        "best": tip,
        "best_score": 0.75,
        "best_step": 6,
        "steps": 6,
        "total_steps": 6,
        "accepted": 4,
        "rejected": 3,
        "epochs": 3,
        "left_out": [],
        "notes": [],
    }


def test_a_dry_run_says_what_would_come(place: Place, folder: Run) -> None:
    before = place.seen()
    done = cli.call(place.root, "import", "skillopt", str(folder.root), "--dry-run")
    assert place.seen() == before
    first, second = done.out.splitlines()
    assert first.startswith("would import 6 steps as run ")
    assert second == "best document: step 6, val 75.0% by SkillOpt"
    cli.call(place.root, "import", "skillopt", str(folder.root))
    assert f" run {run_of(place)} " in first


def test_what_was_left_out_is_said(place: Place, folder: Run) -> None:
    folder.put("history.json", folder.json("history.json")[:3])
    folder.put("steps/step_0004/step_record.json", '{"step": 4, ')
    folder.record(3, selection_hard=float("nan"))
    done = cli.call(place.root, "import", "skillopt", str(folder.root))
    assert done.err.splitlines() == [
        "note: step 4 was left out (and all behind it, up to step 6): its step_record.json is no whole JSON",
        "note: step 3: the candidate was left out: selection_hard is unusable: a score is nan",
    ]
    assert done.out.splitlines()[0].startswith("imported 3 of 6 steps as run ")


def test_the_other_commands_know_it(place: Place, folder: Run) -> None:
    cli.call(place.root, "import", "skillopt", str(folder.root))
    rows = json.loads(cli.call(place.root, "log", SKILL, "--json").out)
    assert [(row["kind"], row["step"], row["decision"], row["score"]) for row in rows] == [
        ("end", 6, "end", None),
        ("slow-update", 6, "none", None),
        ("step", 6, "accept-best", 0.75),
        ("step", 5, "reject", 0.416667),
        ("slow-update", 4, "forced", None),
        ("step", 4, "reject", 0.5),
        ("step", 3, "reject", 0.5),
        ("import", 2, "import", None),
        ("step", 2, "accept-best", 0.5),
        ("step", 1, "accept-best", 0.25),
        ("baseline", 0, "baseline", 0.0),
    ]
    log = cli.call(place.root, "log", SKILL)
    assert log.code == 0
    assert "accept-best" in log.out
    (status,) = json.loads(cli.call(place.root, "status", "--json").out)
    assert (status["best_score"], status["best"], status["rejected"]) == (0.75, place.git("rev-parse", BRANCH), 3)
    assert status["run_reason"] == "imported from the SkillOpt run run"
    listed = cli.call(place.root, "rejected", "list", SKILL).out.splitlines()
    assert len(listed) == 3
    assert "val 50.0% -> 41.7%: -0.0833 on val, not better than the document before it" in listed[0]
    shown = cli.call(place.root, "rejected", "show", SKILL, "5")
    assert shown.code == 0
    assert any(line.startswith("+- ") for line in shown.out.splitlines())
    merged = cli.call(place.root, "merge", SKILL)
    assert merged.code == 0, merged.err
    assert text_at(place.root, "main") == text_at(place.root, BRANCH)


def test_a_skill_that_is_not_configured_yet(place: Place, folder: Run) -> None:
    where = str(folder.root)
    assert place.refused("import", "skillopt", where, "--skill", "new") == (
        "skillgit.yaml has no skill 'new'; name its document with --document PATH, "
        "or run `skillgit init --skill new` first"
    )
    done = cli.call(place.root, "import", "skillopt", where, "--skill", "new", "--document", DOCUMENT)
    assert done.code == 0, done.err
    assert f"tell skillgit.yaml of it: `skillgit init --skill new --document {DOCUMENT}`" in done.out
    assert "refs/heads/skill/new" in repos.refs(place.root)


def test_a_history_is_not_imported_over(place: Place, folder: Run) -> None:
    place.trained()
    assert place.refused("import", "skillopt", str(folder.root)) == (
        f"{BRANCH} is there already; an import begins a skill's history: name another skill with --skill NAME"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "nowhere: there is no such folder; name an output folder of SkillOpt (its out_root)"),
        (("envs",), "envs: no run of SkillOpt: there is no skills/skill_v0000.md; "),
        (("RUN", "--skill", "Bad Name"), "--skill: 'Bad Name' is no skill name: "),
        (("RUN", "--skill", "new", "--document", "../x"), "--document: document: "),
        (("RUN", "--skill", "new", "--document", "none.md"), "none.md at "),
        (("RUN", "--document", "other.md"), f"--document other.md: the document of {SKILL} is {DOCUMENT}; "),
    ],
)
def test_what_is_wrong_is_one_line(place: Place, folder: Run, arguments: tuple[str, ...], said: str) -> None:
    words = (str(folder.root) if word == "RUN" else word for word in arguments)
    assert place.refused("import", "skillopt", *words).startswith(said)


def test_a_secret_is_never_committed(place: Place, folder: Run) -> None:
    secret = "password: hunter2-hunter2"
    folder.rewrite(2, lambda text: f"{text}\n{secret}\n")
    said = place.refused("import", "skillopt", str(folder.root))
    assert said.startswith("step 2 (steps/step_0002/candidate_skill.md): it holds a secret (password); nothing was ")
    assert "hunter2" not in said


def test_no_text_of_the_folder_moves_the_cursor(place: Place, folder: Run) -> None:
    folder.record(3, action="skip\x1b[31m_odd\nthing")
    done = cli.call(place.root, "import", "skillopt", str(folder.root))
    assert done.code == 0, done.err
    log = cli.call(place.root, "log", SKILL).out
    assert "\x1b" not in log
    assert len(log.splitlines()) == 12


def test_several_skills_have_to_be_told_apart(place: Place, folder: Run) -> None:
    place.configure("skills:\n", f"skills:\n  other: {{document: {DOCUMENT}, env: envs/topics}}\n")
    assert place.refused("import", "skillopt", str(folder.root)) == (
        "skillgit.yaml has 2 skills; name one, or a new one, with --skill NAME"
    )


@pytest.mark.parametrize("stopped", [1, 2, 4, 6])
def test_an_imported_history_verifies(place: Place, folder: Run, stopped: int) -> None:
    if stopped < 6:
        folder.stop_after(stopped)
    assert cli.call(place.root, "import", "skillopt", str(folder.root)).code == 0
    done = cli.call(place.root, "verify", SKILL)
    assert (done.code, done.err) == (0, ""), done.out
    assert done.out.endswith(", 0 differ\n")


def test_doctor_makes_what_was_lost_again(place: Place, folder: Run) -> None:
    cli.call(place.root, "import", "skillopt", str(folder.root))
    whole = repos.refs(place.root)
    for ref in whole:
        if ref.startswith(("refs/tags/", "refs/skillgit/rejected/", "refs/skillgit/best/")):
            place.git("update-ref", "-d", ref)
    done = cli.call(place.root, "doctor", "--repair", SKILL)
    assert "Traceback" not in done.err
    assert repos.refs(place.root) == whole
    assert cli.call(place.root, "verify", SKILL).code == 0


def test_training_on_from_it_verifies_too(place: Place, folder: Run) -> None:
    folder.stop_after(4)
    cli.call(place.root, "import", "skillopt", str(folder.root))
    done = place.trained()
    assert str(done["run"]) > run_of_import(place)
    assert cli.call(place.root, "verify", SKILL).out.endswith(", 0 differ\n")
    (status,) = json.loads(cli.call(place.root, "status", "--json").out)
    assert (status["run"], status["rejected"] >= 2, status["unmeasured_commits"]) == (done["run"], True, 0)
    log = json.loads(cli.call(place.root, "log", SKILL, "--json").out)
    assert {row["run"] for row in log} == {done["run"], run_of_import(place)}


def run_of_import(place: Place) -> str:
    """The oldest run's id."""
    return min(ref.rpartition("/")[2] for ref in repos.refs(place.root, f"refs/skillgit/runs/{SKILL}/"))
