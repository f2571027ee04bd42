"""`skillgit compare`: skills, runs, models and revisions in one table, with numbers of the world's rule."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import looking, training
from support.looking import blob, call, loaded, percent, refused
from support.training import BEST_REF, BRANCH, DOCUMENT, SKILL, Yard
from support.truth import passed, share

from skillgit.document.length import length


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with looking.history(tmp_path_factory.mktemp("once") / "repo") as made:
        yield made


@pytest.fixture
def here(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return looking.copied(once, tmp_path / "repo", monkeypatch)


def differences(here: Yard, first: str, second: str, split: str = "val") -> list[int]:
    before, after = (passed(here.world, here.text(rev), split) for rev in (first, second))
    return [after[task] - before[task] for task in before]


def table(here: Yard, *arguments: str) -> list[list[str]]:
    """The rows of the Markdown table, without its head."""
    lines = [line for line in call(here, "compare", *arguments, "--markdown").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_revisions_by_the_world_s_rule(here: Yard) -> None:
    first, second = table(here, SKILL, f"{SKILL}@base")
    text = here.text(BEST_REF)
    assert first[:5] == [SKILL, blob(here, BEST_REF)[:10], str(len(text.splitlines())), str(length(text)), "openai/sim"]
    assert first[5:] == [percent(here, BEST_REF), percent(here, BEST_REF), "", "-", "-", "-"]
    by = differences(here, BEST_REF, "main")
    error = statistics.stdev(by) / math.sqrt(len(by))
    assert second[5:7] == [percent(here, "main")] * 2
    assert second[7] == f"{statistics.mean(by) * 100:+.1f} ± {error * 100:.1f} (n={len(by)})"


def test_json(here: Yard) -> None:
    first, second = loaded(here, "compare", f"{SKILL}@main", f"{SKILL}@best")
    assert list(first) == [
        *("what", "skill", "rev", "commit", "document", "run", "step"),
        *("lines", "tokens", "target", "val", "test", "training"),
    ]
    by = differences(here, "main", BEST_REF)
    assert (first["val"]["against_first"], second["val"]["against_first"]) == ("first", "same")
    assert second["val"]["paired"]["difference"] == round(statistics.mean(by), 6)
    assert second["val"]["paired"]["error"] == round(statistics.stdev(by) / math.sqrt(len(by)), 6)
    assert second["val"]["hard"] == round(float(share(here.world, here.text(BEST_REF))), 6)
    assert (second["test"], second["training"]) == (None, None)


def test_test_scores_of_notes(here: Yard) -> None:
    for rev in ("main", BEST_REF):
        call(here, "eval", SKILL, "--rev", rev)
    first, second = table(here, f"{SKILL}@main", SKILL)
    by = differences(here, "main", BEST_REF, "test")
    assert first[8:] == [percent(here, "main", "test")] * 2 + [""]
    assert second[8:10] == [percent(here, BEST_REF, "test")] * 2
    assert second[10].startswith(f"{statistics.mean(by) * 100:+.1f} ± ")


def test_a_row_per_target_and_none_compares_with_another(here: Yard) -> None:
    call(here, "eval", SKILL, "--rev", "main", "--split", "val", "--target", "openai/other")
    rows = table(here, SKILL, f"{SKILL}@main")
    assert [(row[0], row[4]) for row in rows] == [
        (SKILL, "openai/sim"),
        (f"{SKILL}@main", "openai/sim"),
        (f"{SKILL}@main", "openai/other"),
    ]
    assert rows[2][5:8] == [percent(here, "main"), percent(here, "main"), "other target"]
    only = table(here, f"{SKILL}@main", "--target", "openai/other")
    assert [row[4] for row in only] == ["openai/other"]
    assert table(here, SKILL, "--target", "openai/other")[0][4:] == ["-"] * 7


def test_other_tasks_are_marked(here: Yard) -> None:
    looking.drop_a_val_task(here)
    commit = here.commit_on(BRANCH, {DOCUMENT: here.world.perfect_document()})
    call(here, "eval", SKILL, "--rev", commit, "--split", "val")
    rows = table(here, SKILL, f"{SKILL}@tip")
    assert rows[1][5:8] == ["100.0%", "100.0%", "other tasks"]
    # The other way round: of what is known of best, what compares is taken once it is measured there.
    call(here, "eval", SKILL, "--rev", BEST_REF, "--split", "val")
    by = differences(here, commit, BEST_REF)
    assert table(here, f"{SKILL}@tip", SKILL)[1][7].startswith(f"{statistics.mean(by) * 100:+.1f} ± ")


def test_what_nobody_measured(here: Yard) -> None:
    commit = here.commit_on(BRANCH, {DOCUMENT: here.text() + "- new\n"})
    out = call(here, "compare", SKILL, f"{SKILL}@tip")
    mend = f"`skillgit eval {SKILL} --rev {commit[:12]} --split val`"
    assert out.splitlines()[-1] == f"{SKILL}@tip was not measured: {mend}"
    assert table(here, SKILL, f"{SKILL}@tip")[1][4:] == ["-"] * 7
    assert loaded(here, "compare", f"{SKILL}@tip")[0]["val"] is None


def test_runs(here: Yard) -> None:
    refs = [ref.rsplit("/", 1)[1] for ref in here.refs("refs/skillgit/runs/")]
    rows = loaded(here, "compare", *(f"{SKILL}@{run[:12]}" for run in refs))
    for row, run, steps in zip(rows, refs, training.journals(here.root), strict=True):
        found: dict[str, Any] = row["training"]
        assert (found["run"], found["status"], found["steps"]) == (run, "finished", max(r.step for r in steps))
        assert found["accepted"] == sum(r.decision == "accept-best" for r in steps)
        assert found["rejected"] == sum(r.decision == "reject" for r in steps)
        assert found["calls"] == sum(r.cost["calls"] for r in steps if r.cost)
        assert found["tokens"] == sum(r.cost["tokens"] for r in steps if r.cost)
        assert (found["usd"], found["compares"]) == (None, True)
        start = here.git("cat-file", "blob", steps[0].document)
        assert found["start"] == round(float(share(here.world, start)), 6)
        best = next(r.document for r in reversed(steps) if r.decision in ("accept-best", "baseline"))
        assert row["document"] == best
        assert (
            found["best"]
            == row["val"]["hard"]
            == round(float(share(here.world, here.git("cat-file", "blob", best))), 6)
        )
        assert row["val"]["run"] == run
    line = call(here, "compare", f"{SKILL}@{refs[0]}").splitlines()[-1]
    facts = rows[0]["training"]
    assert line == (
        f"{SKILL}@{refs[0]}: val {facts['start'] * 100:.1f}% -> {facts['best'] * 100:.1f}% in {facts['steps']} steps, "
        f"{facts['accepted']} accepted, {facts['rejected']} rejected; {facts['calls']} calls, {facts['tokens']} tokens"
    )


def test_two_skills_on_the_same_tasks(here: Yard) -> None:
    """Tasks and target are the same; the settings of training are not."""
    path = here.root / "skillgit.yaml"
    text = path.read_text()
    path.write_text(text + text.split("skills:\n")[1].replace("  topics:", "  other:", 1).replace(DOCUMENT, "OTHER.md"))
    here.commit_on("main", {"OTHER.md": here.world.perfect_document()})
    call(here, "eval", "other", "--rev", "main", "--split", "val")
    rows = loaded(here, "compare", SKILL, "other@main")
    assert (rows[1]["skill"], rows[1]["val"]["against_first"], rows[1]["val"]["hard"]) == ("other", "same", 1.0)
    assert rows[1]["val"]["paired"]["difference"] == round(1 - float(share(here.world, here.text(BEST_REF))), 6)


def test_cells_are_escaped_in_markdown(here: Yard) -> None:
    here.git("update-ref", "refs/heads/a|b", "main")
    out = call(here, "compare", f"{SKILL}@a|b", "--markdown")
    assert out.splitlines()[2].startswith(f"| {SKILL}@a\\|b | ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((f"{SKILL}@nowhere",), "nowhere: no such revision"),
        ((SKILL, "nobody"), "nobody"),
        ((SKILL, "--json", "--markdown"), "--json and --markdown exclude each other; choose one"),
        ((f"{SKILL}@zzzz",), "zzzz: no such revision"),
    ],
)
def test_what_cannot_be_compared(here: Yard, arguments: tuple[str, ...], said: str) -> None:
    assert said in refused(here, "compare", *arguments)


def test_more_than_one_run(here: Yard) -> None:
    runs = [ref.rsplit("/", 1)[1] for ref in here.refs("refs/skillgit/runs/")]
    shared = runs[0][:4]
    assert shared == runs[1][:4]
    said = refused(here, "compare", f"{SKILL}@{shared}")
    assert said == f"{SKILL} has more than one run {shared}: {runs[0][:10]}, {runs[1][:10]}; write more of the run's id"


def test_at_least_one_thing(here: Yard) -> None:
    assert "Missing argument" in refused(here, "compare")
