"""What the commands of docs/git.md that move refs between repositories, mend them or remove them must leave behind."""

from __future__ import annotations

import re

from support import repos
from support.documented import Scene
from support.documented_changing import CHECKS, NOTES, kept, on_remote
from support.documented_looking import hashed, shows
from support.sharing import TRAVELS
from support.training import BEST, BEST_REF, BRANCH, DOCUMENT, SKILL

__all__ = ["CHECKS"]


@shows("git ls-remote REMOTE 'refs/heads/skill/*'")
def _ls_remote(scene: Scene) -> None:
    rows = (line.split() for line in scene.lines)
    assert {ref: oid for oid, ref in rows if not ref.endswith("^{}")} == on_remote(scene)


@shows("git fetch -q REMOTE refs/heads/skill/triage")
def _fetched_branch(scene: Scene) -> None:
    assert scene.refs()[f"refs/remotes/origin/skill/{SKILL}"] == on_remote(scene)[BRANCH]


@shows("git merge-base --is-ancestor REMOTE/skill/triage")
def _is_part(scene: Scene) -> None:
    assert scene.git("rev-list", "--count", f"{BRANCH}..{on_remote(scene)[BRANCH]}") == "0"


@shows("git push --dry-run")
def _nothing_sent(scene: Scene) -> None:
    assert on_remote(scene)[BRANCH] != scene.refs()[BRANCH]


@shows("git push -q --atomic")
def _sent(scene: Scene) -> None:
    assert {r: o for r, o in on_remote(scene).items() if r != NOTES} == kept(scene, *TRAVELS)
    assert repos.refs(scene.bare, "refs/skillgit/evidence") == {}


@shows("git push -q REMOTE 'refs/skillgit/evidence/triage/*:")
def _transcripts(scene: Scene) -> None:
    prefix = "refs/skillgit/evidence/"
    assert repos.refs(scene.bare, prefix) == scene.refs(prefix) != {}


@shows("git fetch -q REMOTE +refs/notes/skillgit:")
def _fetched_notes(scene: Scene) -> None:
    assert scene.refs()["refs/skillgit/remotes/origin/notes"] == on_remote(scene)[NOTES] != scene.refs()[NOTES]


@shows("git notes --ref=skillgit merge")
def _united(scene: Scene) -> None:
    listed = scene.git("ls-tree", "-r", "--name-only", NOTES).splitlines()
    for notes in (scene.before[NOTES], scene.refs()["refs/skillgit/remotes/origin/notes"]):
        for name in scene.git("ls-tree", "-r", "--name-only", notes).splitlines():
            oid = name.replace("/", "")
            lines = {line for line in scene.git("show", f"{notes}:{name}").splitlines() if line}
            assert lines <= set(scene.git("notes", "--ref=skillgit", "show", oid).splitlines())
            assert oid in {path.replace("/", "") for path in listed}


@shows("git push -q REMOTE refs/notes/skillgit")
def _sent_notes(scene: Scene) -> None:
    assert on_remote(scene)[NOTES] == scene.refs()[NOTES]


@shows("git -C ../elsewhere fetch -q --refmap=")
def _fetched_there(scene: Scene) -> None:
    mine, theirs = kept(scene, *TRAVELS), repos.refs(scene.elsewhere)
    assert {ref: oid for ref, oid in mine.items() if ref != BRANCH}.items() <= theirs.items()
    assert theirs[f"refs/remotes/origin/skill/{SKILL}"] == mine[BRANCH]


@shows("git -C ../elsewhere branch -q skill/triage")
def _branch_there(scene: Scene) -> None:
    assert repos.refs(scene.elsewhere)[BRANCH] == scene.refs()[BRANCH]
    assert scene.call("log", SKILL, root=scene.elsewhere).out == scene.call("log", SKILL).out


@shows("git -C ../elsewhere fetch -q REMOTE refs/notes/skillgit")
def _notes_there(scene: Scene) -> None:
    assert repos.refs(scene.elsewhere)[NOTES] == scene.refs()[NOTES]


@shows("git fsck --strict")
def _sound(scene: Scene) -> None:
    assert scene.out == ""


@shows("git fsck --lost-found")
def _found(scene: Scene) -> None:
    assert scene.words["LOST"] in [line.split()[0] for line in scene.lines]
    assert all(line.split(" ", 1)[1].startswith("skillgit journal: ") for line in scene.lines)


@shows('git update-ref "refs/skillgit/runs/triage/')
def _found_again(scene: Scene) -> None:
    ref = f"refs/skillgit/runs/{SKILL}/{scene.runs[0]}"
    assert scene.refs().items() - scene.before.items() == {(ref, scene.words["LOST"])}


@shows("(tip|best_commit)\"'")
def _should_be(scene: Scene) -> None:
    assert scene.fields() == {"tip": scene.refs()[BRANCH], "best_commit": scene.refs()[BEST_REF]}


@shows("git rev-parse skill/triage refs/skillgit/best/triage")
def _are(scene: Scene) -> None:
    assert scene.lines == [scene.state(scene.run_id)["tip"], scene.state(scene.run_id)["best_commit"]]


@shows("git update-ref refs/skillgit/best/triage")
def _is_there(scene: Scene) -> None:
    assert scene.before == scene.refs()


@shows("""ENTRY:step.json | sed -n '/^ "refs"/""")
def _transaction(scene: Scene) -> None:
    assert scene.fields() == {"refs": scene.entry[1]["refs"]}
    assert [BRANCH, scene.entry[1]["commits"][-1]] in [[ref, new] for ref, _, new in scene.fields()["refs"]]


@shows("git reflog show skill/triage")
def _reflog(scene: Scene) -> None:
    assert any(
        f"{scene.short(scene.words['COMMIT'])} " in line and "skillgit: step 1: accept" in line for line in scene.lines
    )
    assert any("commit: Go back to v1" in line for line in scene.lines)


@shows("git log --grep='^Skill-Blob: '")
def _false_verdicts(scene: Scene) -> None:
    wrong = []
    for commit in scene.git("rev-list", BRANCH).split():
        claim = re.search(r"^Skill-Blob: (\w+)$", scene.git("log", "-1", "--format=%B", commit), re.MULTILINE)
        if claim and claim[1] != hashed(scene, scene.text(commit)):
            wrong.append(f"{commit} has the verdict on {claim[1]}")
    assert scene.lines == wrong
    told = scene.call("verify", SKILL, code=2).out
    assert sorted(re.findall(r"differs ([0-9a-f]{12}): Skill-Blob", told)) == sorted(line[:12] for line in wrong)
    assert len(wrong) == 2


@shows("git branch --list skill")
def _no_branch(scene: Scene) -> None:
    assert scene.out == ""
    assert "refs/heads/skill" not in scene.refs()


@shows("git config --get-regexp")
def _settings(scene: Scene) -> None:
    assert scene.lines == ["remote.origin.fetch +refs/heads/*:refs/remotes/origin/*"]


@shows("git ls-remote --refs REMOTE")
def _gone_there(scene: Scene) -> None:
    assert repos.refs(scene.bare) == {"refs/heads/main": repos.refs(scene.bare)["refs/heads/main"]}


@shows("git for-each-ref --format='delete %(refname)'")
def _gone(scene: Scene) -> None:
    left = {ref for ref in scene.refs() if not ref.startswith("refs/remotes/")}
    assert left == {"refs/heads/main", "refs/heads/again"}


@shows('rm -r "$(git rev-parse --git-common-dir)/skillgit"')
def _nothing_left(scene: Scene) -> None:
    assert not (scene.root / ".git/skillgit").exists()
    assert (scene.root / DOCUMENT).read_text() == scene.text("main") == scene.text("main", BEST)
    repos.fsck(scene.root)
