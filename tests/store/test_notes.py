"""Notes, read and merged by git itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import repos

from skillgit.store.notes import add_note, read_notes
from skillgit.store.refs import NOTES
from skillgit.store.repository import Repository


@pytest.fixture(params=["sha1", "sha256"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return repos.make_repo(tmp_path / "r", {"SKILL.md": "one\n"}, object_format=request.param)


@pytest.fixture
def repo(where: Path) -> Repository:
    return Repository.open(where)


def shown(where: Path, oid: str) -> list[dict[str, object]]:
    """What `git notes show` has, as JSON lines."""
    return [json.loads(line) for line in repos.git(where, "notes", "--ref=skillgit", "show", oid).split("\n")]


def test_on_a_blob_and_on_a_commit(repo: Repository, where: Path) -> None:
    blob, tip = (repos.git(where, "rev-parse", rev) for rev in ("HEAD:SKILL.md", "HEAD"))
    assert read_notes(repo, blob) == []
    add_note(repo, blob, {"kind": "test", "score": "3/4", "by": "Jürgen\n---"})
    add_note(repo, blob, {"kind": "other"})
    add_note(repo, tip, {"kind": "verdict"})
    assert read_notes(repo, blob) == shown(where, blob)
    assert read_notes(repo, blob) == [{"kind": "test", "score": "3/4", "by": "Jürgen\n---"}, {"kind": "other"}]
    assert shown(where, tip) == [{"kind": "verdict"}]
    assert "Notes (skillgit):" in repos.git(where, "log", "-1", f"--notes={NOTES}")
    assert len(repos.git(where, "rev-list", NOTES).split()) == 3
    repos.fsck(where)


def test_a_fact_is_written_once(repo: Repository, where: Path) -> None:
    blob = repos.git(where, "rev-parse", "HEAD:SKILL.md")
    for _ in range(2):
        add_note(repo, blob, {"b": 1, "a": [1, 2]})
    assert read_notes(repo, blob) == [{"a": [1, 2], "b": 1}]
    assert len(repos.git(where, "rev-list", NOTES).split()) == 1


def test_peoples_notes_stay(repo: Repository, where: Path) -> None:
    blob, tip = (repos.git(where, "rev-parse", rev) for rev in ("HEAD:SKILL.md", "HEAD"))
    repos.git(where, "notes", "--ref=skillgit", "add", "-m", 'words\n{"kind": "by hand"}\n[1]\n"text"', blob)
    repos.git(where, "notes", "--ref=skillgit", "add", "-F", "-", tip, input="")
    add_note(repo, blob, {"kind": "ours"})
    assert read_notes(repo, blob) == [{"kind": "by hand"}, {"kind": "ours"}]
    assert repos.git(where, "notes", "--ref=skillgit", "show", blob).startswith("words\n")
    repos.git(where, "notes", "--ref=skillgit", "append", "-m", "more words", blob)
    assert read_notes(repo, blob) == [{"kind": "by hand"}, {"kind": "ours"}]


def test_with_gits_own_fan_out(repo: Repository, where: Path) -> None:
    """git spreads many notes over folders; ours have to be found there, and its own to survive."""
    oids = [repo.objects.write_blob(b"%d" % number) for number in range(400)]
    repos.git(where, "notes", "--ref=skillgit", "add", "-m", '{"by": "git"}', oids[0])
    copies = "".join(f"{oids[0]} {oid}\n" for oid in oids[1:])
    repos.git(where, "notes", "--ref=skillgit", "copy", "--stdin", input=copies)
    assert "/" in repos.git(where, "ls-tree", "-r", "--name-only", NOTES).split()[0]
    for number in (0, 7, 399):
        add_note(repo, oids[number], {"added": number})
        assert shown(where, oids[number]) == [{"by": "git"}, {"added": number}]
        assert read_notes(repo, oids[number]) == [{"by": "git"}, {"added": number}]
    assert len(repos.git(where, "notes", "--ref=skillgit", "list").splitlines()) == 400
    repos.git(where, "notes", "--ref=skillgit", "add", "-m", '{"by": "git"}', repos.git(where, "rev-parse", "HEAD"))
    assert read_notes(repo, oids[7]) == [{"by": "git"}, {"added": 7}]
    repos.fsck(where)


def test_the_same_note_in_two_places_is_read_and_mended(repo: Repository, where: Path) -> None:
    blob = repos.git(where, "rev-parse", "HEAD:SKILL.md")
    one, two = (repo.objects.write_blob(b'{"n": %d}' % n) for n in (1, 2))
    listing = f"100644 blob {two}\t{blob[2:]}\0"
    folder = repos.git(where, "mktree", "-z", input=listing)
    listing = f"100644 blob {one}\t{blob}\0" + f"040000 tree {folder}\t{blob[:2]}\0"
    tree = repos.git(where, "mktree", "-z", input=listing)
    repos.git(where, "update-ref", NOTES, repos.git(where, "commit-tree", "-m", "x", tree))
    assert read_notes(repo, blob) == [{"n": 1}, {"n": 2}]
    add_note(repo, blob, {"n": 3})
    assert shown(where, blob) == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert repos.git(where, "ls-tree", "-r", "--name-only", NOTES) == f"{blob[:2]}/{blob[2:]}"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec=None, categories=None), max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(facts=st.lists(st.dictionaries(st.text(max_size=8), json_values, max_size=4), min_size=1, max_size=3))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_fact_comes_back(repo: Repository, facts: list[dict[str, object]]) -> None:
    oid = repo.objects.write_blob(json.dumps(facts).encode())
    for fact in facts:
        add_note(repo, oid, fact)
    unique = [fact for number, fact in enumerate(facts) if _text(fact) not in map(_text, facts[:number])]
    assert read_notes(repo, oid) == unique


def _text(fact: dict[str, object]) -> str:
    return json.dumps(fact, sort_keys=True)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_is_none_is_refused(repo: Repository, where: Path, number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        add_note(repo, repos.git(where, "rev-parse", "HEAD"), {"score": number})
    assert repo.read_ref(NOTES) is None


def test_no_note_is_lost_when_many_write(repo: Repository, where: Path) -> None:
    blob = repos.git(where, "rev-parse", "HEAD:SKILL.md")
    code = (
        "import sys; from pathlib import Path; from skillgit.store.notes import add_note;"
        "from skillgit.store.repository import Repository; repo = Repository.open(Path('.'));"
        f"[add_note(repo, '{blob}', {{'by': sys.argv[1], 'n': n}}) for n in range(5)]; repo.close()"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(n)], cwd=where) for n in range(3)]
    # A fourth one uses git itself, which knows nothing of our lock.
    tip = repos.git(where, "rev-parse", "HEAD")
    theirs = [
        repos.git(where, "notes", "--ref=skillgit", "append", "-m", f"line {n}", tip, check=False) for n in range(5)
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(theirs) == 5
    found = {(fact["by"], fact["n"]) for fact in read_notes(repo, blob)}
    assert found == {(str(by), n) for by in range(3) for n in range(5)}
    repos.fsck(where)


def test_a_lock_file_of_a_killed_writer_is_removed(repo: Repository, where: Path) -> None:
    tip = repos.git(where, "rev-parse", "HEAD")
    hook = where / ".git" / "hooks" / "reference-transaction"
    hook.write_text('#!/bin/sh\n[ "$1" = prepared ] && kill -9 $PPID $(ps -o ppid= -p $PPID); exit 0\n')
    hook.chmod(0o755)
    code = (
        "from pathlib import Path; from skillgit.store.notes import add_note;"
        "from skillgit.store.repository import Repository;"
        f"add_note(Repository.open(Path('.')), '{tip}', {{}})"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=where, check=False).returncode == -9
    assert (where / ".git" / f"{NOTES}.lock").exists()
    hook.unlink()
    add_note(repo, tip, {"kind": "second"})
    assert read_notes(repo, tip) == [{"kind": "second"}]
