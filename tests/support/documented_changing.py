"""What the commands of docs/git.md that change something must leave behind."""

from __future__ import annotations

import json
import re
from fractions import Fraction

from support import repos
from support.documented import Scene
from support.documented_looking import CHECKS, V1, hashed, scored, shows
from support.sharing import TRAVELS
from support.training import BEST, BEST_REF, BRANCH, DOCUMENT, SKILL
from support.truth import share

from skillgit.store.pruned import pruned_commits
from skillgit.store.repository import Repository
from skillgit.train.archive import taken_back
from skillgit.train.merging.release import next_number

__all__ = ["CHECKS"]

NOTES = "refs/notes/skillgit"
TITLE = "# Tickets and codes"


def kept(scene: Scene, *prefixes: str) -> dict[str, str]:
    return {ref: oid for prefix in prefixes for ref, oid in scene.refs(prefix).items()}


def on_remote(scene: Scene) -> dict[str, str]:
    """What the bare repository itself lists."""
    return {ref: oid for prefix in (*TRAVELS, NOTES) for ref, oid in repos.refs(scene.bare, prefix).items()}


def head(scene: Scene) -> str:
    return scene.git("symbolic-ref", "HEAD").removeprefix("refs/heads/")


def said_of_rejected(scene: Scene) -> list[str]:
    run, _, place = scene.words["REJECTED"].removeprefix(f"refs/skillgit/rejected/{SKILL}/").partition("/")
    step = f"{run}/{int(place[:5])}"
    return [note["text"] for note in scene.json("rejected", "show", SKILL, step)["notes"]]


def is_taken_back(scene: Scene, document: str) -> list[str]:
    """What training would not propose again for a document."""
    repo = Repository.open(scene.root)
    try:
        return [edit.content for edit in taken_back.read(repo, SKILL, document)]
    finally:
        repo.close()


@shows('"kind": "note"')
def _noted(scene: Scene) -> None:
    assert said_of_rejected(scene) == ["Too narrow"]


@shows("git notes --ref=skillgit show REJECTED")
def _note(scene: Scene) -> None:
    assert [json.loads(line)["text"] for line in scene.lines] == ["Too narrow"]


@shows("git switch -q -c again skill/triage")
def _again(scene: Scene) -> None:
    assert head(scene) == "again"


@shows("git cherry-pick skill/triage..REJECTED")
def _retried(scene: Scene) -> None:
    had, has = (scene.text(rev).splitlines() for rev in (f"{scene.words['REJECTED']}~2", scene.words["REJECTED"]))
    assert scene.text("again").splitlines() == [*scene.text().splitlines(), *has[len(had) :]]
    assert scene.git("rev-list", "--count", f"{BRANCH}..again") == "2"


@shows("git switch -q main")
def _on_main(scene: Scene) -> None:
    assert head(scene) == "main"
    assert scene.git("status", "--porcelain", "--untracked-files=no") == ""


@shows("git update-ref refs/skillgit/pruned/triage")
def _listed_as_pruned(scene: Scene) -> None:
    old = scene.words["OLD"]
    repo = Repository.open(scene.root)
    try:
        assert pruned_commits(repo, SKILL) == {old: scene.refs(old)[old]}
    finally:
        repo.close()


@shows("--force-with-lease=OLD:")
def _pruned_there(scene: Scene) -> None:
    assert scene.words["OLD"] not in on_remote(scene)
    assert f"refs/skillgit/best/{SKILL}" in on_remote(scene)
    ref = f"refs/skillgit/pruned/{SKILL}"
    assert on_remote(scene)[ref] == scene.refs()[ref]


@shows("git update-ref -d OLD")
def _pruned(scene: Scene) -> None:
    old = scene.words["OLD"]
    assert scene.before.keys() - scene.refs().keys() == {old}
    scene.call("fetch")
    scene.call("doctor", "--offline", "--repair")
    assert old not in scene.refs()


@shows("git switch -q skill/triage")
def _on_the_branch(scene: Scene) -> None:
    assert head(scene) == f"skill/{SKILL}"


@shows("$EDITOR")
def _edited(scene: Scene) -> None:
    assert "the code alone." in (scene.root / DOCUMENT).read_text()


@shows("git commit -q -m 'Say it more plainly'")
def _by_hand(scene: Scene) -> None:
    assert "the code alone." in scene.text("HEAD")
    assert scene.git("log", "-1", "--format=%(trailers)") == ""


@shows("git revert --no-edit COMMIT")
def _reverted(scene: Scene) -> None:
    assert scene.text("HEAD") == scene.text("HEAD^").replace(f"{scene.words['LINE']}\n", "")
    assert scene.git("log", "-1", "--format=%(trailers:key=Skill-Run)") == ""


@shows('"kind": "taken-back"')
def _taken_back(scene: Scene) -> None:
    assert is_taken_back(scene, scene.text("HEAD")) == [scene.words["LINE"]]


@shows("git cherry-pick COMMIT")
def _picked(scene: Scene) -> None:
    assert scene.text("HEAD") == scene.text("HEAD~2")
    assert scene.git("log", "-1", "--format=%B") == scene.git("log", "-1", "--format=%B", scene.words["COMMIT"])


@shows('"kind": "brought-back"')
def _brought_back(scene: Scene) -> None:
    assert is_taken_back(scene, scene.text("HEAD^")) == []


@shows("git log -1 --format='%(trailers:key=Skill-Score,valueonly,separator=) of ")
def _travelled(scene: Scene) -> None:
    commit = scene.words["COMMIT"]
    assert scene.out == f"{scored(scene, commit)} of {hashed(scene, scene.text(commit))}"


@shows("git rev-parse HEAD:skills/triage/SKILL.md")
def _another_document(scene: Scene) -> None:
    assert scene.out == hashed(scene, scene.text("HEAD"))
    assert scene.out != hashed(scene, scene.text(scene.words["COMMIT"]))
    assert scene.json("show", SKILL, "HEAD")["measured"] is None


@shows("git diff skill/triage...again")
def _would_bring(scene: Scene) -> None:
    had, has = (set(scene.text(rev).splitlines()) for rev in (f"{scene.words['REJECTED']}~2", scene.words["REJECTED"]))
    assert {line[1:] for line in scene.lines if re.match(r"\+[^+]", line)} == has - had


@shows("git merge -q --no-ff --no-edit again")
def _joined(scene: Scene) -> None:
    assert scene.git("rev-parse", "HEAD^1", "HEAD^2").split() == [
        scene.before[BRANCH],
        scene.before["refs/heads/again"],
    ]
    assert "the code alone." in scene.text("HEAD")
    assert scene.text("HEAD").splitlines()[-1] == scene.text("again").splitlines()[-1]


@shows("git restore --source=skill/triage/v1")
def _restored(scene: Scene) -> None:
    assert (scene.root / DOCUMENT).read_text() == scene.text(V1)


@shows("git commit -q -m 'Go back to v1'")
def _gone_back(scene: Scene) -> None:
    assert scene.text("HEAD") == scene.text(V1)
    assert scene.git("rev-parse", "HEAD^") == scene.before[BRANCH]


@shows("skillgit train triage")
def _trained_on(scene: Scene) -> None:
    (person,) = [entry for _, entry in scene.journal(scene.run_id) if entry["kind"] == "human"]
    assert person["document"] == hashed(scene, scene.text(V1))
    assert Fraction(person["score"]) == share(scene.world, scene.text(V1))
    assert scene.git("merge-base", scene.before[BRANCH], BRANCH) == scene.before[BRANCH]
    assert scene.state(scene.run_id)["status"] == "finished"


@shows("""git notes --ref=skillgit show "$(git log --format=%H -1 --grep='^Go back to v1$'""")
def _human_note(scene: Scene) -> None:
    fact = json.loads(scene.out)
    assert (fact["kind"], Fraction(fact["hard"])) == ("human", share(scene.world, scene.text(V1)))


@shows("git merge-tree --write-tree")
def _merge_tree(scene: Scene) -> None:
    assert scene.text(scene.lines[0]) == scene.text(BEST_REF)
    assert scene.before == scene.refs()


@shows("git merge -q --no-ff --no-commit refs/skillgit/best/triage")
def _merging(scene: Scene) -> None:
    assert scene.git("rev-parse", "MERGE_HEAD") == scene.refs()[BEST_REF]


@shows("cp skills/triage/SKILL.md")
def _copied(scene: Scene) -> None:
    assert (scene.root / BEST).read_bytes() == (scene.root / DOCUMENT).read_bytes()


@shows("git add skills/triage/best_skill.md")
def _added(scene: Scene) -> None:
    assert scene.git("rev-parse", f":{BEST}") == hashed(scene, scene.text(BEST_REF))


@shows("git commit -q -m 'Merge the best document of triage'")
def _merged(scene: Scene) -> None:
    assert scene.git("rev-parse", "main^1", "main^2").split() == [
        scene.before["refs/heads/main"],
        scene.refs()[BEST_REF],
    ]
    assert scene.text("main") == scene.text("main", BEST) == scene.text(BEST_REF)
    assert scene.json("status", SKILL)[0]["merged"]


@shows("git tag -a")
def _tagged(scene: Scene) -> None:
    repo = Repository.open(scene.root)
    try:
        assert next_number(repo, SKILL) == 3
    finally:
        repo.close()


@shows("%(contents:subject)' 'refs/tags/skill/triage/v*'")
def _releases(scene: Scene) -> None:
    assert [line.split()[0] for line in scene.lines] == [V1, V1.replace("v1", "v2")]


@shows("git for-each-ref --format='%(contents)' refs/tags/skill/triage/v1")
def _release(scene: Scene) -> None:
    assert f"Skill-Score: {scored(scene, V1)}" in scene.lines
    assert f"Skill-Score-Before: {scored(scene, f'{V1}^1')}" in scene.lines
    assert "Skill-Kind: release" in scene.lines


@shows("git log --first-parent --merges")
def _merges(scene: Scene) -> None:
    rows = [line.split(" ") for line in scene.lines]
    assert [row[:2] for row in rows] == [[scene.short("main"), ""], [scene.short(V1), scored(scene, V1)]]
