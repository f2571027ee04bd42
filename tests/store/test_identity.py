"""Signatures, by git's own means."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support import repos

from skillgit.errors import RefusedError
from skillgit.store.objects import ObjectStore
from skillgit.store.objects_git import PlumbingObjects
from skillgit.store.repository import Repository


@pytest.fixture(params=["sha1", "sha256"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A repository that signs with an SSH key."""
    made = repos.make_repo(tmp_path / "r", {"a": "1"}, object_format=request.param)
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", key], check=True)
    (tmp_path / "signers").write_text(f"test@example.com {key.with_suffix('.pub').read_text()}")
    for name, value in (
        ("gpg.format", "ssh"),
        ("user.signingKey", str(key)),
        ("gpg.ssh.allowedSignersFile", str(tmp_path / "signers")),
        ("commit.gpgSign", "true"),
        ("tag.gpgSign", "true"),
    ):
        repos.git(made, "config", name, value)
    return made


@pytest.fixture(params=[False, True], ids=["chosen", "plumbing"])
def store(request: pytest.FixtureRequest, where: Path) -> ObjectStore:
    repo = Repository.open(where)
    if request.param:
        return PlumbingObjects(repo.runner, repo.common_dir, repo.object_format)
    return repo.objects


def test_a_commit_is_signed(store: ObjectStore, where: Path) -> None:
    tip = repos.git(where, "rev-parse", "HEAD")
    message = "skill(x): Grüße\n\nbody\n\nSkill-Name: x\n"
    oid = store.write_commit(store.tree_of(tip), [tip], message)
    repos.git(where, "verify-commit", oid)
    info = store.read_commit(oid)
    assert (info.message, info.parents, info.author_time) == (message, (tip,), 1767323045)
    store.close()


def test_a_tag_is_signed_and_no_ref_moves(store: ObjectStore, where: Path) -> None:
    hook = where / ".git" / "hooks" / "reference-transaction"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    repos.git(where, "config", "core.hooksPath", str(hook.parent))
    before = repos.refs(where)
    tip = repos.git(where, "rev-parse", "HEAD")
    oid = store.write_tag("skill/x/v1", tip, "table\n# not a comment\n\nSkill-Name: x\n")
    assert repos.refs(where) == before
    hook.unlink()
    repos.git(where, "update-ref", "refs/tags/skill/x/v1", oid)
    repos.git(where, "verify-tag", "skill/x/v1")
    assert repos.git(where, "cat-file", "-p", oid).splitlines()[2] == "tag skill/x/v1"
    assert "\n# not a comment\n" in repos.git(where, "cat-file", "-p", oid)
    repos.fsck(where)
    store.close()


def test_what_is_signed_can_have_another_time(store: ObjectStore, where: Path) -> None:
    tip, when = repos.git(where, "rev-parse", "HEAD"), datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC)
    commit = store.write_commit(store.tree_of(tip), [tip], "old\n", when=when)
    repos.git(where, "verify-commit", commit)
    assert repos.git(where, "log", "-1", "--format=%at %ct", commit) == "946684799 946684799"
    tag = store.write_tag("skill/x/v1", tip, "old\n", when=when)
    repos.git(where, "update-ref", "refs/tags/skill/x/v1", tag)
    repos.git(where, "verify-tag", "skill/x/v1")
    assert repos.git(where, "for-each-ref", "--format=%(taggerdate:unix)", "refs/tags/skill/x/v1") == "946684799"
    store.close()


def test_a_signature_that_fails_is_refused(store: ObjectStore, where: Path) -> None:
    repos.git(where, "config", "user.signingKey", "/nowhere/key")
    tip = repos.git(where, "rev-parse", "HEAD")
    with pytest.raises(RefusedError, match="the commit could not be signed") as caught:
        store.write_commit(store.tree_of(tip), [tip], "x")
    assert "commit.gpgSign" in str(caught.value)
    with pytest.raises(RefusedError, match="the tag could not be signed") as caught:
        store.write_tag("v1", tip, "x")
    assert "`git tag -s`" in str(caught.value)
    store.close()


def test_nothing_is_signed_where_nobody_asked(tmp_path: Path) -> None:
    where = repos.make_repo(tmp_path / "r", {"a": "1"})
    store = Repository.open(where).objects
    tip = repos.git(where, "rev-parse", "HEAD")
    assert b"gpgsig" not in store.read(store.write_commit(store.tree_of(tip), [tip], "x")).data
    assert b"BEGIN" not in store.read(store.write_tag("v1", tip, "x")).data
