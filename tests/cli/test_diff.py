"""`skillgit diff`: git's own diff of two documents, their scores, and the tasks that flipped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import looking, repos, training
from support.looking import blob, call, loaded, percent, refused
from support.training import BEST_REF, BRANCH, DOCUMENT, SKILL, Yard
from support.truth import passed, share


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with looking.history(tmp_path_factory.mktemp("once") / "repo") as made:
        yield made


@pytest.fixture
def here(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return looking.copied(once, tmp_path / "repo", monkeypatch)


def lines(out: str) -> list[str]:
    """What comes behind the text."""
    return [line for line in out.splitlines() if re.match(r"(val|test) |[+-]?\d+\.\d on|\d+ (better|worse)", line)]


def expected(here: Yard, a: str, b: str, split: str = "val") -> list[str]:
    """The last lines by the world's rule."""
    before, after = passed(here.world, here.text(a), split), passed(here.world, here.text(b), split)
    change = share(here.world, here.text(b), split) - share(here.world, here.text(a), split)
    better = sorted(task for task in before if after[task] > before[task])
    worse = sorted(task for task in before if after[task] < before[task])
    found = [f"{float(change) * 100:+.1f} on {len(before)} tasks"]
    found += [f"{len(better)} better: {', '.join(better)}"] if better else []
    return found + ([f"{len(worse)} worse: {', '.join(worse)}"] if worse else [])


@pytest.mark.parametrize("form", ["A B", "A..B", "A", "A..", "..A"])
def test_text_scores_and_flips(here: Yard, form: str) -> None:
    arguments = form.replace("A", "main").replace("B", BRANCH).split()
    a, b = (BRANCH, "main") if form == "..A" else ("main", BRANCH)
    out = call(here, "diff", SKILL, *arguments)
    assert out.startswith(here.git("diff", a, b, "--", DOCUMENT) + "\n")
    scores = lines(out)
    assert [re.search(r"[\d.]+%", line)[0] for line in scores[:2]] == [percent(here, a), percent(here, b)]  # type: ignore[index]
    assert scores[2:] == expected(here, a, b)


def test_where_the_scores_are_from(here: Yard) -> None:
    journal = training.journal(here.root)
    first, second = lines(call(here, "diff", SKILL, "--stat"))[:2]
    step = next(r.step for r in reversed(here.steps) if r.document == journal.state.best and r.scores)
    assert first.startswith(f"val base: {percent(here, 'main')} hard (run ")
    assert second == f"val best: {percent(here, BEST_REF)} hard (run {journal.info.run[:10]} step {step}, openai/sim)"


def test_steps_of_runs(here: Yard) -> None:
    record = next(r for r in here.steps if r.decision == "accept-best")
    run = training.journal(here.root).info.run
    tip = record.commits[-1]
    out = call(here, "diff", SKILL, f"{run[:12]}/{record.step}", f"{record.step}")
    assert out.splitlines()[0].endswith("are the same document")
    out = call(here, "diff", SKILL, f"{tip}~{len(record.commits)}", str(record.step))
    assert out.startswith(here.git("diff", f"{tip}~{len(record.commits)}", tip, "--", DOCUMENT) + "\n")
    gained = re.search(r"better: (.*)", out)
    assert gained is not None
    assert gained[1].split(", ") == sorted(record.gained)
    lost = re.search(r"worse: (.*)", out)
    assert (lost[1].split(", ") if lost else []) == sorted(record.lost)


def test_an_early_rejection_has_no_score_until_it_is_measured(here: Yard) -> None:
    record = next(r for run in reversed(training.journals(here.root)) for r in run if r.maximum is not None)
    ref = next(ref for ref, oid in here.refs("refs/skillgit/rejected/").items() if oid == record.commits[-1])
    out = call(here, "diff", SKILL, "main", ref)
    assert lines(out)[1] == f"val {ref}: not measured"
    assert out.splitlines()[-1] == f"`skillgit diff {SKILL} main {ref} --eval` measures it"
    assert loaded(here, "diff", SKILL, "main", ref)["b"]["known"] is None
    found = lines(call(here, "diff", SKILL, "main", ref, "--eval"))
    assert percent(here, ref) in found[1]
    assert "(notes of " in found[1]
    assert found[2:] == expected(here, "main", ref)
    calls = here.server.count
    assert lines(call(here, "diff", SKILL, "main", ref, "--eval")) == found
    assert here.server.count == calls


def test_on_test(here: Yard) -> None:
    out = call(here, "diff", SKILL, "main", "best", "--split", "test", "--stat")
    assert out.splitlines() == [
        "test main: not measured",
        "test best: not measured",
        f"`skillgit diff {SKILL} main best --split test --eval` measures them",
    ]
    found = lines(call(here, "diff", SKILL, "main", "best", "--split", "test", "--eval"))
    assert percent(here, BEST_REF, "test") in found[1]
    assert found[2:] == expected(here, "main", BEST_REF, "test")


def test_scores_that_do_not_compare_are_not_subtracted(here: Yard) -> None:
    """One is of today's tasks, the other of yesterday's."""
    yesterday = percent(here, "main")
    looking.drop_a_val_task(here)
    commit = here.commit_on(BRANCH, {DOCUMENT: here.world.perfect_document()})
    call(here, "eval", SKILL, "--rev", commit, "--split", "val")
    found = call(here, "diff", SKILL, "main", commit, "--stat").splitlines()
    assert found[0].startswith(f"val main: {yesterday} hard (run ")
    assert found[1].startswith(f"val {commit}: 100.0% hard (notes of ")
    assert found[2].startswith("the scores are of other tasks or with another target, so they do not compare;")
    shown = loaded(here, "diff", SKILL, "main", commit)
    assert (shown["comparable"], shown["paired"]) == (False, None)
    assert lines(call(here, "diff", SKILL, "main", commit, "--eval"))[2:] == expected(here, "main", commit)


def test_another_target(here: Yard) -> None:
    out = call(here, "diff", SKILL, "main", "best", "--target", "openai/other", "--stat")
    assert out.splitlines()[0] == "val main: not measured"
    found = lines(call(here, "diff", SKILL, "main", "best", "--target", "openai/other", "--eval", "--stat"))
    assert all(line.endswith("openai/other)") for line in found[:2])
    assert found[2:] == expected(here, "main", BEST_REF)


def test_json(here: Yard) -> None:
    found = loaded(here, "diff", SKILL, "main", BRANCH)
    assert list(found) == ["skill", "split", "metric", "a", "b", "comparable", "paired", "diff"]
    assert (found["a"]["rev"], found["a"]["commit"]) == ("main", here.git("rev-parse", "main"))
    assert (found["b"]["document"], found["b"]["known"]["document"]) == (blob(here, BRANCH), blob(here, BRANCH))
    assert found["b"]["known"]["score"] == round(float(share(here.world, here.text(BRANCH))), 6)
    assert found["diff"] == here.git("diff", "main", BRANCH, "--", DOCUMENT)
    before, after = passed(here.world, here.text("main")), passed(here.world, here.text(BRANCH))
    assert [row["task"] for row in found["paired"]["gained"]] == sorted(t for t in after if after[t] > before[t])


def test_word_diff_and_equal_documents(here: Yard) -> None:
    out = call(here, "diff", SKILL, "main", BRANCH, "--word-diff")
    assert out.startswith(here.git("diff", "--word-diff", "main", BRANCH, "--", DOCUMENT) + "\n")
    out = call(here, "diff", SKILL, "tip", BRANCH)
    assert out.splitlines()[0] == f"tip and {BRANCH} are the same document"


def test_colours_are_git_s_on_a_terminal(here: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillgit.cli.diff.is_terminal", lambda _: True)
    monkeypatch.setenv("TERM", "xterm")
    out = call(here, "diff", SKILL, "main", BRANCH)
    assert out.startswith(here.git("diff", "--color=always", "main", BRANCH, "--", DOCUMENT) + "\n")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in call(here, "diff", SKILL, "main", BRANCH)


def test_a_document_cannot_move_the_cursor(here: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillgit.cli.diff.is_terminal", lambda _: True)
    monkeypatch.setenv("TERM", "xterm")
    here.commit_on(BRANCH, {DOCUMENT: here.text() + "\x1b[2Jgone \u202e\r\n"})
    out = call(here, "diff", SKILL, "best")
    assert not set(out) & {"\x1b", "\u202e", "\r"}
    assert "+\\x1b[2Jgone \\u202e" in out
    assert json.loads(call(here, "diff", SKILL, "best", "--json"))["diff"].count("\x1b[2J") == 1


def test_no_score_for_what_plain_git_made(here: Yard, tmp_path: Path) -> None:
    """An amended commit keeps the trailers of a document that it no longer has."""
    work = tmp_path / "work"
    here.git("worktree", "add", "-q", "-b", "mine", str(work), BRANCH)
    (work / DOCUMENT).write_text(here.text() + "- Slipped in.\n")
    repos.git(work, "commit", "-q", "-a", "--amend", "--no-edit")
    assert training.trailer(here.root, "mine", "Skill-Score")
    assert lines(call(here, "diff", SKILL, BRANCH, "mine"))[1] == "val mine: not measured"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a", "b", "c"), "diff compares two revisions, not 3; name A and B"),
        (
            ("nowhere",),
            "nowhere: no such revision; name a commit, a step of `skillgit log topics`, or best, tip or base",
        ),
        (("main..nowhere",), "nowhere: no such revision; name a commit"),
        (("99",), "99: no such revision"),
    ],
)
def test_what_cannot_be_compared(here: Yard, arguments: tuple[str, ...], said: str) -> None:
    assert refused(here, "diff", SKILL, *arguments).startswith(said)


def test_an_unknown_skill(here: Yard) -> None:
    assert "nobody" in refused(here, "diff", "nobody")
