"""`skillgit blame`: each line with the step, score change, support and reason that brought it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from support import looking, repos, training
from support.looking import call, loaded, refused
from support.training import BRANCH, DOCUMENT, SKILL, Yard


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with looking.history(tmp_path_factory.mktemp("once") / "repo") as made:
        yield made


@pytest.fixture
def here(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return looking.copied(once, tmp_path / "repo", monkeypatch)


def headings(here: Yard, *arguments: str) -> dict[str, str]:
    """The heading above each line of the document, by the line."""
    found, heading = {}, ""
    for line in call(here, "blame", SKILL, *arguments).splitlines():
        if line.startswith("  "):
            found[line.strip().partition("  ")[2]] = heading
        else:
            heading = line
    return found


def test_each_line_has_what_brought_it(here: Yard) -> None:
    found = headings(here)
    assert list(found) == list(dict.fromkeys(here.text().splitlines()))
    seen = 0
    for run, steps in zip(here.refs("refs/skillgit/runs/"), training.journals(here.root), strict=True):
        for record in steps:
            if record.decision != "accept-best":
                continue
            change = Fraction(str(record.score)) - Fraction(str(record.before))
            rows = [row for row in record.edits if row["status"] == "applied"]
            for number, (row, commit) in enumerate(zip(rows, record.commits, strict=True), start=1):
                many = len(rows) > 1
                place = f"{record.step}.{number}" if many else str(record.step)
                others = f" with {len(rows) - 1} other edit{'s' if len(rows) > 2 else ''}" if many else ""
                support = f"{row['support']} failure{'' if row['support'] == 1 else 's'}"
                text = f"{commit[:10]} step {place} of run {run.rsplit('/', 1)[1][:10]}, {float(change) * 100:+.1f}"
                line = row["content"]
                if line in found and commit[:10] == found[line][:10]:
                    assert found[line] == f"{text}{others}: {support}: {row['reason']}"
                    seen += 1
    assert seen >= 3


def test_people_are_named(here: Yard) -> None:
    commit = here.commit_on(BRANCH, {DOCUMENT: here.text() + "- Mine.\n"}, "By hand\n\nSkill-Run: never\n")
    found = headings(here)
    assert found["- Mine."] == f"{commit[:10]} Test Person, 2026-01-02: By hand"
    base = here.git("rev-parse", "--short=10", "main")
    assert found["Answer with the code."] == f"{base} Test Person, 2026-01-02 (before training): Start"


def test_what_plain_git_copied(here: Yard, tmp_path: Path) -> None:
    work = tmp_path / "work"
    here.git("worktree", "add", "-q", "-b", "mine", str(work), BRANCH)
    repos.git(work, "commit", "-q", "--amend", "--no-edit", env={"GIT_COMMITTER_DATE": "2027-01-01T00:00:00+0000"})
    tip = repos.git(work, "rev-parse", "HEAD")
    heading = next(text for text in headings(here, "mine").values() if text.startswith(tip[:10]))
    step, run = (training.trailer(here.root, tip, key) for key in ("Skill-Step", "Skill-Run"))
    who = "Test Person, 2026-01-02"
    assert heading == f"{tip[:10]} copied from step {step} of run {run[:10]}, not measured as it is ({who})"


def test_without_journals(here: Yard) -> None:
    for ref in here.refs("refs/skillgit/runs/"):
        here.git("update-ref", "-d", ref)
    assert sum("whose journal is not here" in heading for heading in headings(here).values()) >= 3


def test_revisions_and_ranges(here: Yard) -> None:
    record = next(r for r in here.steps if r.decision == "accept-best")
    shown = loaded(here, "blame", SKILL, str(record.step), "-L", "1,2")
    assert (shown["commit"], shown["document"]) == (record.commits[-1], record.document)
    text = here.text(record.commits[-1]).splitlines()
    assert [(row["line"], row["text"]) for row in shown["lines"]] == [(1, text[0]), (2, text[1])]
    assert shown["commits"].keys() == {row["commit"] for row in shown["lines"]}
    assert "has only" in refused(here, "blame", SKILL, "-L", "999,1000")


def test_json(here: Yard) -> None:
    shown = loaded(here, "blame", SKILL)
    record = next(r for r in reversed(here.steps) if r.decision == "accept-best")
    found = shown["commits"].get(record.commits[-1])
    assert found is not None
    assert (found["kind"], found["step"], found["decision"]) == ("edit", record.step, "accept-best")
    assert found["score"] == round(float(Fraction(str(record.score))), 6)
    assert found["delta"] == round(float(Fraction(str(record.score)) - Fraction(str(record.before))), 6)


def test_a_document_cannot_move_the_cursor(here: Yard) -> None:
    here.commit_on(BRANCH, {DOCUMENT: here.text() + "\x1b[2Jgone\n"}, "\x1b[31mred")
    out = call(here, "blame", SKILL)
    assert "\x1b" not in out
    assert "\\x1b[2Jgone" in out


def test_before_training_it_is_the_base(here: Yard) -> None:
    for ref in here.refs("refs/heads/skill/"):
        here.git("update-ref", "-d", ref)
    assert set(headings(here)) == set(here.text("main").splitlines())


def test_a_step_without_a_document_of_its_own(here: Yard) -> None:
    assert refused(here, "blame", SKILL, "0") == "0: no commit has its document; name a step that has a candidate"
    assert refused(here, "blame", SKILL, "nowhere").startswith("nowhere: no such revision")


def test_in_a_bare_clone(here: Yard, tmp_path: Path) -> None:
    repos.git(tmp_path, "clone", "-q", "--mirror", str(here.root), "bare")
    bare = Yard(tmp_path / "bare", here.world, here.server)
    for command in (("blame", SKILL), ("diff", SKILL, "main", "best"), ("compare", SKILL, f"{SKILL}@main")):
        assert call(bare, *command) == call(here, *command)
