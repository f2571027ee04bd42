"""`skillgit show`: one decision whole, by every name that it has, and no score for what was not measured.

What the tasks must say is worked out by the world's own rule on the documents that git has.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support import cli, repos, training
from support.training import BRANCH, DOCUMENT, SKILL
from support.world import TopicWorld

CONFIG = training.configuration(train="{num_epochs: 2, batch_size: 8}")
SCORED = re.compile(r"val [\d-]|\d%|0\.\d{2,}")


@dataclass
class Trained:
    root: Path
    world: TopicWorld

    def show(self, *arguments: str) -> str:
        done = cli.call(self.root, "show", *arguments)
        assert (done.code, done.err) == (0, "")
        return done.out

    def json(self, *arguments: str) -> Any:
        return json.loads(self.show(*arguments, "--json"))

    def git(self, *arguments: str) -> str:
        return repos.git(self.root, *arguments)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The newest run's entries as the log has them, newest first."""
        rows = json.loads(cli.call(self.root, "log", SKILL, "--json").out)
        return [row for row in rows if row["run"] == rows[0]["run"]]

    def row(self, step: int) -> dict[str, Any]:
        return next(row for row in self.rows if row["step"] == step)

    def passed(self, rev: str) -> dict[str, bool]:
        """Which val tasks the document of a revision answers."""
        text = self.git("show", f"{rev}:{DOCUMENT}") + "\n"
        return {row["id"]: self.world.target(text, row["input"]) == row["answer"] for row in self.world.tasks["val"]}

    def score(self, rev: str) -> Fraction:
        passed = self.passed(rev)
        return Fraction(sum(passed.values()), len(passed))

    def away(self, name: str, rev: str) -> Path:
        """A work tree on a branch of its own."""
        other = self.root.parent / name
        self.git("worktree", "add", "-q", "-b", name, str(other), rev)
        return other

    def without_journals(self) -> None:
        for ref in repos.refs(self.root, "refs/skillgit/runs/"):
            self.git("update-ref", "-d", ref)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    """Two runs: two rejected steps; then accepted (4 edits), accepted (3), rejected early (2), accepted (2)."""
    root = tmp_path_factory.mktemp("once") / "r"
    with training.trained_once(root, training.mixed(), ["train.num_epochs=1"], [], config=CONFIG) as made:
        yield Trained(made.root, made.world)


@pytest.fixture
def trained(once: Trained, tmp_path: Path) -> Trained:
    return Trained(shutil.copytree(once.root, tmp_path / "r", symlinks=True), once.world)


def test_a_step_whole(trained: Trained) -> None:
    row, found = trained.row(4), trained.json(SKILL, "4")
    last = row["commits"][-1]
    before, after = trained.passed(f"{row['commits'][0]}^"), trained.passed(last)
    assert (found["commit"], found["kind"], found["step"], found["candidate"]) == (last, "step", 4, 1)
    assert found["verdict"] == {
        "decision": "accept-best",
        "reason": row["reason"],
        "before": float(trained.score(f"{row['commits'][0]}^")),
        "score": float(trained.score(last)),
        "score_max": None,
        "document": trained.git("rev-parse", f"{last}:{DOCUMENT}"),
    }
    assert [edit["commit"] for edit in found["edits"]] == row["commits"]
    assert all({"op", "status", "reason", "support", "source", "content"} <= edit.keys() for edit in found["edits"])
    assert {flip["task"] for flip in found["gained"]} == {t for t in after if after[t] and not before[t]}
    assert {flip["task"] for flip in found["lost"]} == {t for t in after if before[t] and not after[t]} == set()
    inputs = {task["id"]: task for task in trained.world.tasks["val"]}
    for flip in found["gained"]:
        task = inputs[flip["task"]]
        assert flip["input"] == task["input"]
        assert (flip["before"]["reply"], flip["before"]["hard"]) == ("<answer>unknown</answer>", 0)
        assert (flip["after"]["reply"], flip["after"]["hard"]) == (f"<answer>{task['answer']}</answer>", 1)
    assert sum(role["tokens"] for role in found["roles"]) == found["cost"]["tokens"]
    assert [role["role"] for role in found["roles"]] == ["optimizer", "target"]
    assert found["diff"] == trained.git("diff", f"{row['commits'][0]}^", last, "--", DOCUMENT) + "\n"


def test_what_a_person_reads(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    row, out = trained.row(4), trained.show(SKILL, "4").splitlines()
    made = trained.git("log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%S+00:00", row["journal"])
    assert out[:5] == [
        "step 4: accept-best",
        f"run {row['run']}",
        f"journal {row['journal']}",
        f"date {made}",
        f"commit {row['commits'][-1]}",
    ]
    assert trained.json(SKILL, "4")["decided"] == made
    assert out[6:8] == ["val 50.0% -> 75.0% (+25.0)", row["reason"]]
    assert out[9:12] == [
        f"1  append (applied), 1 failure, {row['commits'][0][:10]}",
        f"   {row['edits'][0]['content']}",
        f"   reason: {row['edits'][0]['reason']}",
    ]
    assert out.count("    before  0  <answer>unknown</answer>  (the answer is not the right one)") == 4
    target = next(role for role in trained.json("4")["roles"] if role["role"] == "target")
    assert f"target     {target['calls']} calls, {target['tokens']} tokens" in out


def test_every_name_of_a_candidate_is_the_same(trained: Trained) -> None:
    row = trained.row(4)
    run, last = row["run"], row["commits"][-1]
    whole = trained.json(SKILL, "4")
    names = ("004", "4-01", f"{run}/4", f"{run[:18]}/4-1", last, last[:12], BRANCH, f"skill/{SKILL}", "tip", "best")
    for name in (*names, row["journal"], f"refs/skillgit/best/{SKILL}", f"skill/{SKILL}/{run}/epoch-02"):
        assert {**trained.json(SKILL, name), "tag": None} == whole, name
    for name in ("4", last, row["journal"], f"refs/skillgit/best/{SKILL}"):
        assert trained.json(name) == whole, "there is one skill"
    assert trained.json(SKILL)["journal"] == trained.git("rev-parse", f"refs/skillgit/runs/{SKILL}/{run}")
    first = min(repos.refs(trained.root, "refs/skillgit/runs/")).rpartition("/")[2]
    assert trained.json(SKILL, f"{first}/1")["run"] == first


def test_a_rejected_candidate(trained: Trained) -> None:
    row = trained.row(3)
    ref = f"refs/skillgit/rejected/{SKILL}/{row['run']}/00003-01"
    found = trained.json(ref)
    assert (found["commit"], found["verdict"]["decision"]) == (trained.git("rev-parse", ref), "reject")
    assert found["measured"] == {
        "score": None,
        "score_max": 0.5,
        "before": 0.5,
        "source": "journal",
        "where": f"run {row['run'][:10]} step 3",
    }
    assert cli.call(trained.root, "rejected", "note", SKILL, "3", "Too \x1b[1mbroad.").code == 0
    out = trained.show(ref).splitlines()
    assert "val 50.0% -> at most 50.0%" in out
    assert re.fullmatch(r"note \d{4}-\d\d-\d\d Test Person <test@example\.com>: Too \\x1b\[1mbroad\.", out[8])
    assert trained.json(ref)["notes"][0]["text"] == "Too \x1b[1mbroad."


def test_an_edit_before_the_last_was_not_measured_by_itself(trained: Trained) -> None:
    row = trained.row(1)
    found = trained.json(row["commits"][1])
    assert (found["commit"], found["edit"]) == (row["commits"][1], {"number": 2, "count": 4})
    assert found["measured"] is None
    assert found["verdict"]["document"] == row["document"] != found["document"]
    assert found["diff"] == trained.git("diff", f"{row['commits'][1]}^!", "--", DOCUMENT) + "\n"
    out = trained.show(row["commits"][1]).splitlines()
    assert out[6:9] == [
        "edit 2 of 4; the verdict is on all of them together",
        "all edits together: val 0.0% -> 37.5% (+37.5)",
        "not measured",
    ]


def test_one_skill_need_not_be_named(trained: Trained) -> None:
    assert trained.json() == trained.json(SKILL)
    assert trained.show("4") == trained.show(SKILL, "4")


def test_without_skills_there_is_nothing_to_show(trained: Trained) -> None:
    (trained.root / "skillgit.yaml").write_text("version: 1\nskills: {}\n")
    for arguments in ((), ("4",)):
        done = cli.call(trained.root, "show", *arguments)
        assert done.last == (
            "skillgit: error: skillgit.yaml has no skills; make one with `skillgit init --skill NAME`"
        ), done


def test_a_persons_commit_has_its_own_date(trained: Trained) -> None:
    tree = trained.git("rev-parse", f"{BRANCH}^{{tree}}")
    commit = trained.git("commit-tree", tree, "-p", BRANCH, "-m", "By hand")
    out = trained.show(SKILL, commit).splitlines()
    assert out[2] == "by Test Person <test@example.com>, 2026-01-02T03:04:05+00:00: By hand"
    assert not any(line.startswith("date ") for line in out)


def test_paragraphs_of_a_reason_are_told_apart(trained: Trained) -> None:
    assert cli.call(trained.root, "revert", SKILL, "4.1", "--no-gate", "-m", "tone is not the job").code == 0
    commit = trained.row(4)["commits"][-1]
    (reason,) = [line for line in trained.show(SKILL, commit).splitlines() if line.startswith("   reason: ")]
    assert reason.startswith("   reason: tone is not the job; Takes back ")


def test_a_tag_says_its_table(trained: Trained) -> None:
    row = trained.row(4)
    found = trained.json(f"skill/{SKILL}/{row['run']}/epoch-02")
    assert found["tag"].splitlines()[0] == f"skill({SKILL}): epoch 2 of run {row['run']}"
    assert f"tag   skill({SKILL}): epoch 2 of run" in trained.show(f"skill/{SKILL}/{row['run']}/epoch-02")


def test_the_baseline_and_a_merge(trained: Trained) -> None:
    start = trained.json(SKILL, "0")
    assert (start["kind"], start["commit"], start["diff"]) == ("baseline", trained.git("rev-parse", "main"), "")
    assert start["measured"]["score"] == float(trained.score("main")) == 0
    done = cli.call(trained.root, "merge", SKILL, "--into", "main")
    assert done.code == 0, done.err
    for journals in (True, False):
        found = trained.json("main")
        assert (found["kind"], found["step"], found["verdict"]) == ("merge", None, None)
        assert (found["measured"]["score"], found["measured"]["source"]) == (
            *(0.75, "journal" if journals else "trailers"),
        )
        trained.without_journals()


class TestNotMeasured:
    """What plain git makes of a candidate: the trailers stay, the document may not."""

    def refused(self, trained: Trained, rev: str, *, copied: bool = True) -> None:
        """No score, not in any form."""
        oid = trained.git("rev-parse", rev)
        found = trained.json(SKILL, oid)
        assert (found["measured"], found["verdict"], found["run"]) == (None, None, None)
        assert (found["copied"] is not None) == copied
        out = trained.show(SKILL, oid)
        assert "\nnot measured\n" in out
        assert not SCORED.search(out.partition("diff --git")[0].replace(found["subject"], ""))

    @pytest.mark.parametrize("journals", [True, False])
    def test_amended(self, trained: Trained, journals: bool) -> None:
        other = trained.away("other", BRANCH)
        (other / DOCUMENT).write_text("changed\n")
        repos.git(other, "commit", "-q", "-a", "--amend", "--no-edit")
        assert "Skill-Score" in trained.git("log", "-1", "--format=%B", "other")
        if not journals:
            trained.without_journals()
        self.refused(trained, "other")

    @pytest.mark.parametrize("journals", [True, False])
    def test_picked_onto_another_document(self, trained: Trained, journals: bool) -> None:
        other = trained.away("other", "main")
        text = (other / DOCUMENT).read_text()
        repos.commit(other, {DOCUMENT: text.replace("# Tickets", "# All tickets")}, "A person's")
        repos.git(other, "cherry-pick", "-X", "theirs", trained.row(1)["commits"][0])
        last = trained.row(1)["commits"][-1]
        repos.git(other, "cherry-pick", "-X", "theirs", f"{trained.row(1)['commits'][0]}..{last}")
        if not journals:
            trained.without_journals()
        assert trained.git("log", "-1", "--format=%(trailers:key=Skill-Score,valueonly)", "other")
        self.refused(trained, "other")
        self.refused(trained, "other~1")

    @pytest.mark.parametrize("journals", [True, False])
    def test_rebased_onto_a_changed_base(self, trained: Trained, journals: bool) -> None:
        text = trained.git("show", f"main:{DOCUMENT}") + "\n"
        repos.commit(trained.root, {DOCUMENT: text.replace("# Tickets", "# All tickets")}, "A person's")
        other = trained.away("other", BRANCH)
        repos.git(other, "rebase", "-q", "main")
        count = int(trained.git("rev-list", "--count", "main..other"))
        assert count == 9
        if not journals:
            trained.without_journals()
        for number in range(count):
            self.refused(trained, f"other~{number}")

    @pytest.mark.parametrize("journals", [True, False])
    def test_squashed_with_a_persons_change(self, trained: Trained, journals: bool) -> None:
        other = trained.away("other", "main")
        repos.git(other, "merge", "-q", "--squash", f"skill/{SKILL}")
        (other / DOCUMENT).write_text((other / DOCUMENT).read_text() + "Mine.\n")
        message = trained.git("log", "-1", "--format=%B", BRANCH)
        repos.git(other, "commit", "-q", "-a", "-m", message)
        if not journals:
            trained.without_journals()
        self.refused(trained, "other")

    def test_a_forged_score_does_not_speak_against_the_journal(self, trained: Trained) -> None:
        """The same document under another message: the journal knows what it scored."""
        other = trained.away("other", BRANCH)
        message = trained.git("log", "-1", "--format=%B", BRANCH).replace(
            "Skill-Score: 0.750000", "Skill-Score: 0.990000"
        )
        repos.git(other, "commit", "-q", "--amend", "-m", message)
        found = trained.json(SKILL, "other")
        assert (found["measured"]["score"], found["measured"]["source"]) == (0.75, "journal")
        assert found["copied"] == {"run": trained.row(4)["run"], "step": 4}
        assert "\nval 50.0% -> 75.0% (+25.0), from run " in trained.show(SKILL, "other")
        trained.without_journals()
        claimed = trained.json(SKILL, "other")["measured"]
        assert (claimed["score"], claimed["source"], claimed["where"]) == (0.99, "trailers", "its own trailers")

    def test_a_step_that_the_journal_does_not_have(self, trained: Trained) -> None:
        """Its journal is here, and knows nothing of it."""
        other = trained.away("other", BRANCH)
        text = "---\nname: x\ndescription: y.\n---\n\nMine.\n"
        (other / DOCUMENT).write_text(text)
        blob = repos.git(other, "hash-object", DOCUMENT)
        message = trained.git("log", "-1", "--format=%B", BRANCH)
        message = re.sub("Skill-Blob: .*", f"Skill-Blob: {blob}", message)
        repos.git(other, "commit", "-q", "-a", "--amend", "-m", message)
        self.refused(trained, "other")

    def test_a_persons_commit(self, trained: Trained) -> None:
        other = trained.away("other", BRANCH)
        repos.commit(other, {DOCUMENT: "---\nname: x\ndescription: y.\n---\n\nMine.\n"}, "Mine")
        self.refused(trained, "other", copied=False)
        assert trained.json(SKILL, "other")["kind"] == "person"

    def test_a_measurement_of_exactly_that_document_counts(self, trained: Trained) -> None:
        """A person brings back what step 2 measured; and then a document that only notes know, on the same tasks."""
        row = trained.row(2)
        other = trained.away("other", BRANCH)
        repos.git(other, "checkout", "-q", row["commits"][-1], "--", DOCUMENT)
        repos.git(other, "commit", "-q", "-m", "Back")
        found = trained.json(SKILL, "other")["measured"]
        assert (found["score"], found["source"]) == (float(trained.score("other")), "journal")
        assert found["where"] == f"run {row['run'][:10]} step 2"
        assert f"\nval 50.0%, from run {row['run'][:10]} step 2\n" in trained.show(SKILL, "other")
        repos.commit(other, {DOCUMENT: "Mine.\n"}, "Mine")
        digest = trained.git("log", "-1", "--format=%(trailers:key=Skill-Val,valueonly)", BRANCH)
        fact = {"kind": "score", "split": "val", "hard": "5/16", "soft": "5/16", "tasks": 16, "target": "openai/sim"}
        for text, score in (("sha256:" + "0" * 64, None), (digest, 0.3125)):
            note = json.dumps({**fact, "digest": text, "at": "2026-01-02T00:00:00+00:00"})
            blob = trained.git("rev-parse", f"other:{DOCUMENT}")
            trained.git("notes", "--ref=skillgit", "add", "-f", "-m", note, blob)
            found = trained.json(SKILL, "other")
            assert (found["measured"] or {}).get("score") == score
            assert found["facts"]["document"][0]["digest"] == text
        assert "\nval 31.2%, from notes of 2026-01-02\n" in trained.show(SKILL, "other")


def test_without_evidence_the_tasks_are_named(trained: Trained) -> None:
    for ref in repos.refs(trained.root, "refs/skillgit/evidence/"):
        trained.git("update-ref", "-d", ref)
    found = trained.json("4")
    assert len(found["gained"]) == 4
    assert {(flip["before"], flip["after"], flip["input"]) for flip in found["gained"]} == {(None, None, None)}
    out = trained.show("4").splitlines()
    assert "    before" not in "\n".join(out)
    assert out[out.index("tasks gained:") + 1] == f"  {found['gained'][0]['task']}"


def test_only_what_is_asked_for_is_read(trained: Trained) -> None:
    """Other entries may even be unreadable: their objects are taken away."""
    row = trained.row(3)
    whole = trained.json(SKILL, row["commits"][-1])
    journals = [trained.row(step)["journal"] for step in (0, 4)]
    for oid in [trained.git("rev-parse", f"{journal}:step.json") for journal in journals]:
        (trained.root / ".git/objects" / oid[:2] / oid[2:]).unlink()
    assert trained.json(SKILL, row["commits"][-1]) == whole
    assert trained.json(SKILL, "3") == whole


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((SKILL, "99"), f"{SKILL} has no step or revision '99'; name a commit, or a step of `skillgit log {SKILL}`"),
        ((SKILL, "4-07"), f"{SKILL} has no step or revision '4-07'; name a commit"),
        ((SKILL, "zz/4"), f"{SKILL} has no step or revision 'zz/4'; name a commit"),
        ((SKILL, "nothing\x1b[1m"), f"{SKILL} has no step or revision 'nothing\\x1b[1m'; name a commit"),
        ((SKILL, "-x"), None),
        (("nobody", "4"), "skillgit.yaml: no skill 'nobody'"),
        (("nothing",), f"{SKILL} has no step or revision 'nothing'; name a commit"),
    ],
)
def test_what_is_not_there(trained: Trained, arguments: tuple[str, ...], line: str | None) -> None:
    done = cli.call(trained.root, "show", *arguments)
    assert (done.code, done.out, done.err.count("skillgit: error: ")) == (2, "", 1)
    assert line is None or done.last.startswith(f"skillgit: error: {line}")


def test_a_skill_that_was_not_trained(trained: Trained) -> None:
    trained.without_journals()
    done = cli.call(trained.root, "show", SKILL)
    assert done.last == (
        f"skillgit: error: {SKILL} was not trained here yet; run `skillgit train {SKILL}`, or name a revision"
    )


def test_two_skills_and_a_commit_that_says_of_which_it_is(trained: Trained) -> None:
    config = trained.root / "skillgit.yaml"
    text = config.read_text()
    block = text[text.index(f"  {SKILL}:\n") :]
    config.write_text(text + block.replace(f"  {SKILL}:", "  other:").replace(DOCUMENT, "skills/other/SKILL.md"))
    assert trained.json(BRANCH)["skill"] == SKILL
    journal = trained.row(4)["journal"]
    assert trained.json(journal)["skill"] == SKILL
    done = cli.call(trained.root, "show", "4")
    assert done.last == (
        f"skillgit: error: '4' is no skill, and nothing says which one it is of: other, {SKILL}; "
        "name one: `skillgit show NAME 4`"
    )
    done = cli.call(trained.root, "show")
    assert done.last == (
        f"skillgit: error: there is more than one skill: other, {SKILL}; name one: `skillgit show NAME`"
    )
    done = cli.call(trained.root, "show", "other", journal)
    assert done.last == f"skillgit: error: {journal[:12]} is of skill {SKILL}, not of other; name that skill"
    found = trained.json("other", BRANCH)
    assert (found["kind"], found["measured"], found["document"]) == ("person", None, None)
    assert "\nit has no skills/other/SKILL.md\n" in trained.show("other", BRANCH)
