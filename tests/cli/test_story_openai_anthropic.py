"""From `skillgit init` to `skillgit merge` against a server that speaks both protocols; the history read with git."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from support import cli, repos
from support.server import serve
from support.story import BEST, BRANCH, DOCUMENT, SKILL, Story, begin, early_maximum
from support.training import is_reflection
from support.world import SEED_DOCUMENT, Kinds, TopicWorld

RUN = r"[0-9a-hjkmnp-tv-z]{26}"
STEP = ["Skill-Name", "Skill-Run", "Skill-Step", "Skill-Epoch", "Skill-Kind", "Skill-Edit", "Skill-Support"]
MEASURED = ["Skill-Gate", "Skill-Blob", "Skill-Val", "Skill-Target", "Skill-Optimizer", "Skill-Cost"]


# What this world's optimizer knows nothing of; tests/train/epoch has its story.
PLAIN = ("--set", "optimizer.use_slow_update=false", "--set", "optimizer.use_meta_skill=false")


def told(tmp_path_factory: pytest.TempPathFactory, seed: int, target: str, optimizer: str) -> Iterator[Story]:
    """A story that has come as far as the end of its training, in a checkout with work of its own in it."""
    folder = tmp_path_factory.mktemp("story")
    with pytest.MonkeyPatch.context() as patch:
        cli.plain_environment(patch, folder / "home")
        world = TopicWorld(8, seed, kinds=Kinds(35, 40))
        with serve(world) as server:
            story = begin(folder / "repository", world, server, target=target, optimizer=optimizer)
            (story.root / "notes.txt").write_text("one\ntwo\n")
            (story.root / "staged.txt").write_text("staged\n")
            story.git("add", "staged.txt")
            (story.root / "untracked.txt").write_text("untracked\n")
            story.before = story.snapshot()
            story.trained = story.run("train", SKILL, *PLAIN, "--json")
            yield story


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    yield from told(tmp_path_factory, 3, "openai/sim", "anthropic/sim")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """The other way round; its rejected candidates are measured to the end."""
    yield from told(tmp_path_factory, 1, "anthropic/sim", "openai/sim")


@pytest.fixture(params=["story", "other"])
def either(request: pytest.FixtureRequest) -> Story:
    found: Story = request.getfixturevalue(request.param)
    return found


class TestTraining:
    def test_the_outcome_as_json(self, either: Story) -> None:
        outcome = json.loads(either.trained.out)
        assert list(outcome) == [
            *("skill", "run", "reason", "before", "after", "steps", "accepted", "rejected"),
            *("best_commit", "best_blob", "finished", "test", "improved", "baselines"),
        ]
        assert (outcome["skill"], outcome["reason"], outcome["steps"]) == (SKILL, "all epochs are done", 4)
        assert (outcome["before"], outcome["improved"]) == (0.0, True)
        assert outcome["after"] == float(either.score(either.document(outcome["best_commit"])))
        assert outcome["accepted"] > 0
        assert outcome["rejected"] > 0

    def test_each_protocol_was_used_for_its_role(self, either: Story, request: pytest.FixtureRequest) -> None:
        roles = Counter(
            (call.protocol, "optimizer" if is_reflection(call) else "target") for call in either.server.calls
        )
        target, optimizer = ("openai", "anthropic") if "story" in request.node.name else ("anthropic", "openai")
        assert set(roles) == {(target, "target"), (optimizer, "optimizer")}

    def test_one_line_per_step_where_no_one_watches(self, either: Story) -> None:
        lines = either.trained.err.splitlines()
        assert [line.split("  ")[0] for line in lines if line.startswith("step ")] == [f"step {n}" for n in range(5)]
        assert "\x1b" not in either.trained.err + either.trained.out
        assert lines[-1].startswith("run finished after 4 steps: all epochs are done; ")

    def test_the_checkout_was_not_touched(self, either: Story) -> None:
        assert either.snapshot() == either.before
        status = either.git("status", "--porcelain")
        assert status.splitlines() == [" M notes.txt", "A  staged.txt", "?? untracked.txt"]

    def test_fsck(self, either: Story) -> None:
        repos.fsck(either.root)


class TestRefs:
    def test_which_there_are(self, either: Story) -> None:
        refs = either.git("for-each-ref", "--format=%(objecttype) %(refname)").splitlines()
        run = json.loads(either.trained.out)["run"]
        assert re.fullmatch(RUN, run)
        rejected = [ref for ref in refs if "/rejected/" in ref]
        assert all(re.fullmatch(rf"commit refs/skillgit/rejected/{SKILL}/{run}/\d{{5}}-01", ref) for ref in rejected)
        assert len(rejected) == json.loads(either.trained.out)["rejected"]
        assert set(refs) - set(rejected) == {
            "commit refs/heads/main",
            f"commit {BRANCH}",
            f"commit refs/skillgit/best/{SKILL}",
            f"commit refs/skillgit/runs/{SKILL}/{run}",
            f"commit refs/skillgit/evidence/{SKILL}/{run}",
            f"tag refs/tags/skill/{SKILL}/{run}/epoch-01",
            f"tag refs/tags/skill/{SKILL}/{run}/epoch-02",
        }

    def test_the_journal_has_a_commit_per_step(self, either: Story) -> None:
        run = json.loads(either.trained.out)["run"]
        subjects = either.git(
            "log", "--first-parent", "--format=%s", f"refs/skillgit/runs/{SKILL}/{run}", "--not", "main"
        )
        steps = [re.fullmatch(rf"skillgit journal: {SKILL} step (\d) (\S+)", line) for line in subjects.splitlines()]
        assert [step and int(step[1]) for step in steps] == [4, 3, 2, 1, 0]
        # Rejected candidates stay reachable through it, whatever becomes of their refs.
        for commit in either.git("for-each-ref", "--format=%(objectname)", "refs/skillgit/rejected").split():
            assert either.git("merge-base", commit, f"refs/skillgit/runs/{SKILL}/{run}") == commit

    def test_best_is_the_highest_of_all(self, either: Story) -> None:
        outcome = json.loads(either.trained.out)
        best = either.git("rev-parse", f"refs/skillgit/best/{SKILL}")
        assert best == outcome["best_commit"]
        assert either.git("rev-parse", f"{best}:{DOCUMENT}") == outcome["best_blob"]
        commits = either.git("rev-list", BRANCH, "--not", "main").split()
        measured = [c for c in commits if "Skill-Score" in either.trailers(c)]
        assert max(either.score(either.document(c)) for c in measured) == either.score(either.document(best))

    def test_epoch_tags_have_a_table_and_trailers(self, either: Story) -> None:
        run = json.loads(either.trained.out)["run"]
        for epoch, steps in ((1, (1, 2)), (2, (3, 4))):
            text = either.git("for-each-ref", "--format=%(contents)", f"refs/tags/skill/{SKILL}/{run}/epoch-{epoch:02}")
            assert text.startswith(f"skill({SKILL}): epoch {epoch} of run {run}\n\nstep  decision")
            table = [line for line in text.splitlines() if re.match(r" +\d+  (accept|reject|none)", line)]
            assert [int(line.split()[0]) for line in table] == list(steps)
            parsed = repos.git(either.root, "interpret-trailers", "--no-divider", "--parse", input=text)
            trailers = dict(line.split(": ", 1) for line in parsed.splitlines())
            assert (trailers["Skill-Run"], trailers["Skill-Epoch"]) == (run, str(epoch))
            assert Fraction(trailers["Skill-Score"]) == either.score(either.document(trailers["Skill-Best"]))

    def test_the_branch_has_a_reflog(self, either: Story) -> None:
        log = either.git("reflog", "show", "--format=%gs", BRANCH).splitlines()
        assert log[-1] == "skillgit: step 0: baseline"
        assert all(re.fullmatch(r"skillgit: step \d: accept-best", line) for line in log[:-1])


class TestCommits:
    def test_trailers_are_the_same_for_every_reader(self, either: Story) -> None:
        tips = [BRANCH, *either.git("for-each-ref", "--format=%(refname)", "refs/skillgit/rejected").split()]
        for commit in either.git("rev-list", *tips, "--not", "main").split():
            message = either.git("log", "-1", "--format=%B", commit)
            parsed = repos.git(either.root, "interpret-trailers", "--no-divider", "--parse", input=message)
            listed = either.git("log", "-1", "--format=%(trailers:only,unfold)", commit)
            assert parsed.strip() == listed.strip()
            subject, blank, body = message.split("\n", 2)
            assert subject.startswith(f"skill({SKILL}): ")
            assert len(subject) <= 72
            assert blank == ""
            assert not body.startswith("Skill-"), "a body that says why comes before the trailers"
            keys = list(either.trailers(commit))
            assert keys[:7] == STEP
            assert keys[7:] in ([], keys[7:-6] + MEASURED)

    def test_a_candidate_is_one_commit_per_edit_of_which_the_last_was_measured(self, either: Story) -> None:
        groups: dict[str, list[dict[str, str]]] = {}
        for commit in either.git("rev-list", "--reverse", BRANCH, "--not", "main").split():
            trailers = either.trailers(commit)
            groups.setdefault(trailers["Skill-Step"], []).append(trailers)
        assert len(groups) == json.loads(either.trained.out)["accepted"]
        for edits in groups.values():
            shown = [edit["Skill-Edit"] for edit in edits]
            assert shown == [f"{n} append".replace(" ", f"/{len(edits)} ") for n in range(1, len(edits) + 1)]
            assert ["Skill-Score" in edit for edit in edits] == [False] * (len(edits) - 1) + [True]

    def test_scores_are_what_an_independent_evaluator_finds(self, either: Story) -> None:
        before, checked = either.score(SEED_DOCUMENT), 0
        for commit in either.git("rev-list", "--reverse", BRANCH, "--not", "main").split():
            trailers, document = either.trailers(commit), either.document(commit)
            if "Skill-Score" not in trailers:
                continue
            score = either.score(document)
            assert trailers["Skill-Decision"] == "accept-best"
            assert trailers["Skill-Score"] == trailers["Skill-Score-Hard"] == f"{float(score):.6f}"
            assert trailers["Skill-Score-Before"] == f"{float(before):.6f}"
            assert score > before
            assert trailers["Skill-Blob"] == either.git("rev-parse", f"{commit}:{DOCUMENT}")
            assert trailers["Skill-Gate"] == "strict hard n=16 repeats=1"
            assert re.fullmatch(r"sha256:[0-9a-f]{64}", trailers["Skill-Val"])
            assert re.fullmatch(r"calls=\d+ tokens=\d+", trailers["Skill-Cost"])
            before, checked = score, checked + 1
        assert checked == json.loads(either.trained.out)["accepted"]

    def test_rejected_candidates_stand_on_the_tip_that_they_were_tried_on(self, either: Story) -> None:
        early = []
        for commit in either.git("for-each-ref", "--format=%(objectname)", "refs/skillgit/rejected").split():
            trailers, document = either.trailers(commit), either.document(commit)
            tried_on = either.git("rev-parse", f"{commit}~{trailers['Skill-Edit'].split('/')[0]}")
            assert either.git("merge-base", tried_on, BRANCH) == tried_on
            before, after = (either.passed(text, "val") for text in (either.document(tried_on), document))
            assert sum(after.values()) <= sum(before.values())
            maximum = early_maximum(before, after)
            early.append(maximum is not None)
            expected = {"Skill-Score": either.score(document)} if maximum is None else {"Skill-Score-Max": maximum}
            assert trailers["Skill-Decision"] == "reject"
            found = {key: trailers[key] for key in ("Skill-Score", "Skill-Score-Max") if key in trailers}
            assert found == {key: f"{float(value):.6f}" for key, value in expected.items()}
        assert early

    def test_every_commit_is_a_whole_document_and_changes_nothing_else(self, either: Story) -> None:
        tips = [BRANCH, *either.git("for-each-ref", "--format=%(refname)", "refs/skillgit/rejected").split()]
        for commit in either.git("rev-list", *tips, "--not", "main").split():
            assert either.git("diff-tree", "--no-commit-id", "-r", "--name-only", commit).split() == [DOCUMENT]
            assert either.document(commit).startswith(SEED_DOCUMENT.split("\n# ")[0])


class TestReaders:
    """status, log and rejected: for people and as JSON."""

    def test_status(self, story: Story) -> None:
        (status,) = story.json("status")
        assert list(status) == [
            *("name", "document", "branch", "best", "best_score", "base", "base_commit", "base_state", "merged"),
            *(
                "unmeasured_base",
                "unmeasured_commits",
                "run",
                "run_step",
                "run_steps",
                "running",
                "run_reason",
                "accepted",
            ),
            *("accepted_run", "rejected", "run_epoch", "closing", "published", "unpublished", "remotes", "lock"),
            *("missing", "fetched_only", "baselines"),
        ]
        assert status["branch"] == story.git("rev-parse", BRANCH)
        assert status["best_score"] == float(story.score(story.document(status["best"])))
        assert (status["base"], status["base_commit"]) == ("main", story.git("rev-parse", "main"))
        text = story.run("status").out
        assert text.splitlines()[0] == f"{SKILL}: {DOCUMENT}"
        assert f"skill/{SKILL} at {status['branch'][:12]}" in text
        assert "finished: all epochs are done" in text

    def test_log(self, story: Story) -> None:
        rows = story.json("log", SKILL)
        assert list(rows[0]) == [
            *("run", "step", "epoch", "kind", "candidate", "decision", "reason", "score", "score_max", "before"),
            *("delta", "best", "learning_rate", "edits", "commits", "document", "parent", "gained", "lost", "cost"),
            *("models", "journal", "others", "author", "subject", "at"),
        ]
        assert [row["step"] for row in rows] == [4, 3, 2, 1, 0]
        assert list(rows[0]["cost"]) == ["calls", "tokens", "usd"]
        shown = story.run("log", SKILL).out.splitlines()
        assert shown[0] == f"run {rows[0]['run']}"
        assert [line.split()[:2] for line in shown[1:]] == [[str(r["step"]), r["decision"]] for r in rows]
        assert len(story.json("log", SKILL, "-n", "2")) == 2
        assert story.json("log", SKILL, "--run", rows[0]["run"][:10]) == rows
        missing = story.call("log", SKILL, "--run", "zz", code=2)
        assert missing.err == f"skillgit: error: {SKILL} has no run zz; see `skillgit log {SKILL}`\n"

    def test_rejected(self, story: Story) -> None:
        rows = story.json("rejected", "list", SKILL)
        keys = ["ref", "commit", "run", "step", "candidate", "record", "day", "gap", "notes"]
        assert [list(row) for row in rows] == [keys] * len(rows)
        for row in rows:
            assert story.git("rev-parse", row["ref"]) == row["commit"]
        shown = story.call("rejected", "show", SKILL, str(rows[0]["step"])).out
        assert shown.startswith(f"{rows[0]['ref']}\ncommit {rows[0]['commit']}\n")
        diff = story.git("diff", f"{rows[0]['commit']}~{len(rows[0]['record']['commits'])}", rows[0]["commit"])
        assert shown.endswith(f"\n{diff}\n")
        found = story.json("rejected", "show", SKILL, f"{rows[0]['run']}/{rows[0]['step']:05}")
        assert found == {**rows[0], "diff": diff + "\n"}
        for step in ("99", "x", "/", ""):
            assert story.call("rejected", "show", SKILL, step, code=2).err == (
                f"skillgit: error: {SKILL} has no rejected candidate {step!r}; see `skillgit rejected list {SKILL}`\n"
            )

    def test_from_anywhere(self, story: Story, tmp_path: Path) -> None:
        wanted = story.call("status").out
        assert cli.start(tmp_path, "-C", str(story.root), "status").out == wanted
        assert cli.start(story.root / "skills", "status").out == wanted
        assert cli.start(tmp_path, "-C", str(story.root.parent), "-C", story.root.name, "status").out == wanted

    def test_as_a_git_command(self, story: Story) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        assert repos.git(story.root, "skill", "status", env={"PATH": path}) + "\n" == story.run("status").out
        helped = subprocess.run(
            ["git", "skill", "-h"], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
        )
        assert helped.stdout.startswith("Usage: git skill [OPTIONS] COMMAND")

    def test_nothing_is_coloured_where_no_one_watches(self, story: Story) -> None:
        for words in (["status"], ["log", SKILL], ["rejected", "list", SKILL], ["doctor", "--offline"]):
            done = story.run(*words)
            assert "\x1b" not in done.out + done.err

    def test_readers_move_nothing_and_ask_nobody(self, story: Story) -> None:
        refs, calls = repos.refs(story.root), story.server.count
        for words in (["status"], ["log", SKILL], ["rejected", "list", SKILL], ["doctor", "--offline"]):
            story.call(*words)
        assert (repos.refs(story.root), story.server.count) == (refs, calls)


class TestEval:
    def facts(self, story: Story, blob: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in story.git("notes", "--ref=skillgit", "show", blob).splitlines()]

    def test_best_on_test_and_its_note(self, story: Story) -> None:
        found = story.json("eval", SKILL)
        assert list(found) == [
            *("skill", "commit", "blob", "split", "target", "digest", "tasks", "errors", "hard", "soft", "scores"),
        ]
        best = story.git("rev-parse", f"refs/skillgit/best/{SKILL}")
        score = story.score(story.document(best), "test")
        assert (found["commit"], found["split"], found["target"]) == (best, "test", "openai/sim")
        assert (found["hard"], found["tasks"], found["errors"]) == (float(score), 16, 0)
        fact = self.facts(story, found["blob"])[-1]
        assert fact["hard"] == f"{score.numerator}/{score.denominator}"
        assert {key: fact[key] for key in ("kind", "split", "target", "digest")} == {
            "kind": "score",
            "split": "test",
            "target": "openai/sim",
            "digest": found["digest"],
        }
        count = story.server.count
        assert story.json("eval", SKILL) == found
        assert story.run("eval", SKILL).out.splitlines()[0] == (
            f"{SKILL} at {best[:12]} on test: {float(score) * 100:.1f}% hard, {float(score) * 100:.1f}% soft"
        )
        assert story.server.count == count, "what is in the cache is not asked again"

    def test_any_revision_split_and_target(self, story: Story) -> None:
        found = story.json("eval", SKILL, "--rev", "main", "--split", "val", "--target", "anthropic/other")
        assert (found["commit"], found["split"], found["hard"]) == (story.git("rev-parse", "main"), "val", 0.0)
        assert found["target"] == "anthropic/other"
        assert story.server.calls[-1].model == "other"
        assert self.facts(story, story.git("rev-parse", f"main:{DOCUMENT}"))[-1]["target"] == "anthropic/other"
        rejected = story.json("rejected", "list", SKILL)[0]
        found = story.json("eval", SKILL, "--rev", rejected["ref"], "--split", "train")
        assert found["hard"] == float(story.score(story.document(rejected["commit"]), "train"))


class TestMerge:
    """The last chapter: from here on the base branch has the best document."""

    def test_merge(self, either: Story) -> None:
        base, best = either.git("rev-parse", "main"), either.git("rev-parse", f"refs/skillgit/best/{SKILL}")
        calls = either.server.count
        done = json.loads(either.run("merge", SKILL, "--into", "main", "--json").out)
        assert list(done) == [
            *("skill", "into", "commit", "document", "best_file"),
            *("score", "before", "below_best", "reason", "resolution", "tag"),
        ]
        assert either.git("rev-parse", f"{done['tag']}^{{commit}}") == done["commit"]
        assert (done["into"], done["document"], done["best_file"]) == ("main", DOCUMENT, BEST)
        assert done["commit"] == either.git("rev-parse", "main")
        assert either.git("log", "-1", "--format=%P", "main").split() == [base, best]
        assert either.document("main") == either.document("main", BEST) == either.document(best)
        assert either.git("diff", "--name-only", base, "main").split() == [DOCUMENT, BEST]
        trailers = either.trailers("main")
        assert trailers["Skill-Kind"] == "merge"
        assert trailers["Skill-Score"] == f"{float(either.score(either.document('main'))):.6f}"
        assert trailers["Skill-Blob"] == either.git("rev-parse", f"main:{BEST}")
        # The checkout went along, and the work in it is as it was.
        assert (either.root / DOCUMENT).read_text() == (either.root / BEST).read_text() == either.document(best)
        assert either.git("status", "--porcelain").splitlines() == [" M notes.txt", "A  staged.txt", "?? untracked.txt"]
        assert either.server.count == calls
        repos.fsck(either.root)
        (status,) = either.json("status")
        assert (status["merged"], status["unmeasured_base"]) == (True, False)
        again = either.call("merge", SKILL)
        assert (again.out, again.err) == (f"main already has the best document of {SKILL}\n", "")
        assert either.git("rev-parse", "main") == done["commit"]

    def test_a_document_that_people_changed_is_said_not_to_be_measured(self, other: Story) -> None:
        if other.git("log", "-1", "--format=%P", "main").count(" ") == 0:
            other.run("merge", SKILL, "--into", "main")
        repos.commit(other.root, {DOCUMENT: other.document("main") + "\nBe brief.\n"}, "Add a line")
        (status,) = other.json("status")
        assert (status["merged"], status["unmeasured_base"]) == (False, True)
        assert "the document on main differs from its best_skill.md: nobody measured it" in other.call("status").out
