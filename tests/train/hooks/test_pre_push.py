"""What the pre-push hook reads of a push: what the remote does not have yet, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from support import hooked, repos
from support.hooked import BRANCH, DOCUMENT, RUN, TEXT, TOKEN

from skillgit.train.hooks.outgoing import parse
from skillgit.train.hooks.pre_push import check_push

NONE = "0" * 40
REJECTED = f"refs/skillgit/rejected/ops/{RUN}/00007-00"
JOURNAL = f"refs/skillgit/runs/ops/{RUN}"
EVIDENCE = f"refs/skillgit/evidence/ops/{RUN}"
NOTES = "refs/notes/skillgit"


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    repos.plain_environment(monkeypatch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return hooked.make(tmp_path / "r", bare_remote=True)


def committed(root: Path, files: Mapping[str, str], *, message: str = "One", parent: str = BRANCH) -> str:
    """A commit on top of another, with some files changed, that no ref reaches."""
    index = {"GIT_INDEX_FILE": str(root / ".git/other.index")}
    repos.git(root, "read-tree", *([parent] if parent else ["--empty"]), env=index)
    for path, text in files.items():
        blob = repos.git(root, "hash-object", "-w", "--stdin", input=text)
        repos.git(root, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", env=index)
    tree = repos.git(root, "write-tree", env=index)
    return repos.git(root, "commit-tree", tree, *(["-p", parent] if parent else []), "-m", message)


def push(root: Path, *pairs: tuple[str, str], old: str = NONE, remote: str = "origin", **environ: str) -> list[str]:
    lines = [f"{ref} {oid} {ref} {old}" for ref, oid in pairs]
    return [one.message for one in check_push(parse(lines), remote, root, environ)]


def test_a_secret_in_a_document_is_told_with_its_commit_and_line(root: Path) -> None:
    first = committed(root, {DOCUMENT: TEXT + f"- Use {TOKEN}\n"})
    tip = committed(root, {DOCUMENT: TEXT + f"- Use {TOKEN}\n- Be brief.\n"}, parent=first)
    said = f"commit {first[:12]} has a secret (github) in {DOCUMENT}, line 9"
    assert push(root, (BRANCH, tip), old=repos.git(root, "rev-parse", BRANCH)) == [said]
    assert push(root, (REJECTED, tip)) == [said]
    assert push(root, (JOURNAL, tip)) == [said]


def test_a_secret_that_was_taken_out_again_goes_out_with_the_history(root: Path) -> None:
    first = committed(root, {DOCUMENT: TEXT + f"- Use {TOKEN}\n"})
    assert push(root, (REJECTED, committed(root, {DOCUMENT: TEXT + "- x\n"}, parent=first))) != []


def test_a_secret_in_a_message_is_told(root: Path) -> None:
    tip = committed(root, {DOCUMENT: TEXT + "- x\n"}, message=f"Add\n\nWith {TOKEN}\n")
    assert push(root, (REJECTED, tip)) == [f"commit {tip[:12]} has a secret (github) on line 3 of its message"]


def test_a_secret_in_an_annotated_tag_is_told(root: Path) -> None:
    repos.git(root, "tag", "-a", "skill/ops/v1", "-m", f"Release {TOKEN}", BRANCH)
    tag = repos.git(root, "rev-parse", "skill/ops/v1")
    said = f"tag {tag[:12]} has a secret (github) on line 1 of its message"
    assert push(root, ("refs/tags/skill/ops/v1", tag)) == [said]


@pytest.mark.parametrize("path", ["best_skill.md", "skills/other/SKILL.md", "step.json", "state.json"])
def test_documents_and_journals_are_read(root: Path, path: str) -> None:
    assert len(push(root, (JOURNAL, committed(root, {path: f"x {TOKEN}\n"})))) == 1


def test_a_document_of_another_name_is_known_from_the_configuration(root: Path) -> None:
    tip = committed(root, {"prompts/ops.txt": f"x {TOKEN}\n"})
    assert push(root, (REJECTED, tip)) == []
    (root / "skillgit.yaml").write_text("version: 1\nskills: {ops: {document: ./prompts/ops.txt, env: e}}\n")
    assert len(push(root, (REJECTED, tip))) == 1


def test_other_files_are_the_project_s_own(root: Path) -> None:
    assert push(root, (REJECTED, committed(root, {"README.md": f"x {TOKEN}\n", "a/step.json": TOKEN}))) == []


def test_notes_and_evidence_are_read_whole(root: Path) -> None:
    tip = committed(root, {"ab/cd": f'{{"by": "{TOKEN}"}}\n'}, parent="")
    assert push(root, (NOTES, tip)) == [f"commit {tip[:12]} has a secret (github) in ab/cd, line 1"]
    assert push(root, (EVIDENCE, tip)) == ["transcripts of a run would go out"]
    assert len(push(root, (EVIDENCE, tip), SKILLGIT_PUSH_EVIDENCE="1")) == 1


@pytest.mark.parametrize("asked", ["1", "true", "YES"])
def test_evidence_goes_out_when_a_variable_asks_for_it(root: Path, asked: str) -> None:
    tip = committed(root, {"val.jsonl": "{}\n"}, parent="")
    assert push(root, (EVIDENCE, tip), SKILLGIT_PUSH_EVIDENCE=asked) == []
    assert push(root, (EVIDENCE, tip), SKILLGIT_PUSH_EVIDENCE="0") != []


def test_evidence_goes_out_when_the_configuration_asks_for_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tip = committed(root, {"val.jsonl": "{}\n"}, parent="")
    with monkeypatch.context() as once:
        once.setenv("GIT_CONFIG_PARAMETERS", "'skillgit.pushevidence'='yes'")  # as `git -c` hands it on
        assert push(root, (EVIDENCE, tip)) == []
    assert push(root, (EVIDENCE, tip)) != []
    repos.git(root, "config", "skillgit.pushEvidence", "true")
    assert push(root, (EVIDENCE, tip)) == []


def test_what_the_remote_has_is_not_read_again(root: Path) -> None:
    known = committed(root, {DOCUMENT: TEXT + f"- Use {TOKEN}\n"})
    tip = committed(root, {DOCUMENT: TEXT + "- Be brief.\n"}, parent=known)
    assert push(root, (REJECTED, tip)) != []
    assert push(root, (BRANCH, tip), old=known) == []
    repos.git(root, "update-ref", "refs/remotes/origin/x", known)
    assert push(root, (REJECTED, tip)) == []
    assert push(root, (REJECTED, tip), remote="other") != []
    assert push(root, (REJECTED, tip), remote=str(root.with_name("remote.git"))) != []
    repos.git(root, "update-ref", "refs/skillgit/remotes/other/rejected/x", known)
    assert push(root, (REJECTED, tip), remote="other") == []


def test_a_rewound_branch_and_one_with_unseen_commits_are_refused(root: Path) -> None:
    tip = repos.git(root, "rev-parse", BRANCH)
    newer = committed(root, {DOCUMENT: TEXT + "- x\n"})
    said = [f"{BRANCH} on origin has commits that this push would drop"]
    assert push(root, (BRANCH, newer), old=tip) == []
    assert push(root, (BRANCH, tip), old=newer) == said
    assert push(root, (BRANCH, newer), old="d" * 40) == said


def test_each_place_has_a_line_up_to_five(root: Path) -> None:
    lines = "".join(f"- Use {TOKEN}{letter * 4}\n" for letter in "abcdefg")
    said = push(root, (REJECTED, committed(root, {DOCUMENT: TEXT + lines})))
    assert len(said) == 6
    assert said[-1] == "2 more places with a secret"


def test_branches_of_others_are_not_looked_at(root: Path) -> None:
    tip = committed(root, {DOCUMENT: TOKEN}, message=TOKEN)
    assert push(root, ("refs/heads/main", tip)) == []


def test_a_sha256_repository_is_read_too(tmp_path: Path) -> None:
    root = repos.make_repo(tmp_path / "r", {DOCUMENT: f"x {TOKEN}\n"}, object_format="sha256")
    tip = repos.git(root, "rev-parse", "HEAD")
    assert len(push(root, (REJECTED, tip), old="0" * 64)) == 1


def test_a_bare_repository_is_read_too(root: Path, tmp_path: Path) -> None:
    tip = committed(root, {DOCUMENT: TEXT + f"- {TOKEN}\n"})
    repos.git(root, "update-ref", REJECTED, tip)
    repos.git(tmp_path, "clone", "-q", "--mirror", str(root), "bare.git")
    assert len(push(tmp_path / "bare.git", (REJECTED, tip))) == 1


def test_thousands_of_rejected_candidates_go_out_in_a_moment(root: Path) -> None:
    """5,000 refs whose documents differ in a line; their secrets would take a minute if each was read whole."""
    body = TEXT + "".join(f"- Rule {n} says what to do with the service of region {n}.\n" for n in range(80))
    tip = repos.git(root, "rev-parse", BRANCH)
    stream = []
    for number in range(1, 5001):
        data = f"{body}- Answer case {number} with one command.\n"
        said = hooked.message(f"{number:040x}", Step=str(number))
        stream.append(
            f"commit refs/heads/made\nmark :{number}\ncommitter A <a@example.com> 1767323045 +0000\n"
            f"data {len(said)}\n{said}\nfrom {tip}\nM 100644 inline {DOCUMENT}\ndata {len(data)}\n{data}\n"
        )
    marks = root / "marks"
    repos.git(root, "fast-import", "--quiet", "--force", f"--export-marks={marks}", input="".join(stream))
    made = [line.split(" ")[1] for line in marks.read_text().splitlines()]
    pairs = [(f"refs/skillgit/rejected/ops/{RUN}/{number:05d}-00", oid) for number, oid in enumerate(made)]
    assert len(set(made)) == 5000
    start = time.process_time()
    assert push(root, *pairs) == []
    assert time.process_time() - start < 10  # of this process alone: about half a second
