"""Release tags: one for each merge, in its transaction."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import repos, training
from support.merging import LONG, bring
from support.training import BEST, DOCUMENT, SKILL, Yard

from skillgit.errors import RefusedError
from skillgit.store.locks import SkillLock
from skillgit.store.repository import Repository
from skillgit.train.events import Note
from skillgit.train.merging.release import next_number

TAGS = "refs/tags/skill/topics/"


def releases(trained: Yard) -> list[str]:
    return trained.git("tag", "-l", "skill/topics/v*").splitlines()


async def test_a_merge_makes_an_annotated_tag_on_its_commit(trained: Yard) -> None:
    base = trained.git("rev-parse", f"main:{DOCUMENT}")
    done = await bring(trained.root)
    assert done.tag == f"{TAGS}v1"
    assert releases(trained) == ["skill/topics/v1"]
    assert trained.git("cat-file", "-t", f"{TAGS}v1") == "tag"
    assert trained.git("rev-parse", f"{TAGS}v1^{{commit}}") == done.commit
    journal = training.journal(trained.root)
    # The base's document is the one that the run began with: it knew no code, and best knows four of eight.
    assert trained.git("for-each-ref", "--format=%(contents)", f"{TAGS}v1").splitlines() == [
        "skill(topics): release v1",
        "",
        "document     score",
        "released  0.500000",
        "before    0.000000",
        "",
        "Skill-Name: topics",
        f"Skill-Run: {journal.info.run}",
        "Skill-Kind: release",
        "Skill-Score: 0.500000",
        "Skill-Score-Before: 0.000000",
        f"Skill-Blob: {trained.git('rev-parse', f'main:{BEST}')}",
        f"Skill-Val: {journal.state.val}",
        "Skill-Target: openai/sim",
    ]
    assert base != trained.git("rev-parse", f"main:{DOCUMENT}")
    repos.fsck(trained.root)


async def test_a_merge_that_changes_nothing_makes_none(trained: Yard) -> None:
    await bring(trained.root)
    assert (await bring(trained.root)).tag is None
    assert releases(trained) == ["skill/topics/v1"]


async def test_each_merge_has_the_next_number(trained: Yard) -> None:
    await bring(trained.root)
    await trained.train()
    done = await bring(trained.root)
    assert done.tag == f"{TAGS}v2"
    assert trained.git("rev-parse", f"{TAGS}v2^{{commit}}") == done.commit


async def test_a_merge_without_a_tag(trained: Yard) -> None:
    done = await bring(trained.root, tag=False)
    assert (done.tag, releases(trained)) == (None, [])


@pytest.mark.parametrize(
    ("refs", "number"),
    [
        ([], 1),
        ([f"{TAGS}v7"], 8),
        ([f"{TAGS}v2", f"{TAGS}v10"], 11),
        (["refs/skillgit/remotes/origin/tags/skill/topics/v4", f"{TAGS}v2"], 5),
        ([f"{TAGS}v3x", f"{TAGS}v03", f"{TAGS}version-9", "refs/tags/skill/other/v9", "refs/tags/v9"], 1),
    ],
)
def test_the_next_number(tmp_path: Path, refs: list[str], number: int) -> None:
    where = repos.make_repo(tmp_path / "r", {"a": "a\n"})
    for ref in refs:
        repos.git(where, "update-ref", ref, "HEAD")
    assert next_number(Repository.open(where), SKILL) == number


async def test_a_tag_in_the_way_moves_nothing(trained: Yard) -> None:
    """git keeps no tag below another one."""
    trained.git("update-ref", f"{TAGS}v1/mine", "main")
    before = trained.refs()
    with pytest.raises(RefusedError, match="is in the way of"):
        await bring(trained.root)
    assert trained.refs() == before
    assert trained.git("status", "--porcelain") == ""


async def test_the_tag_that_a_crash_kept_from_being_made(trained: Yard) -> None:
    """The branch moved, the tag did not: the lock's dead owner had listed both."""
    done = await bring(trained.root)
    message = trained.git("for-each-ref", "--format=%(contents)", f"{TAGS}v1")
    trained.git("update-ref", "-d", f"{TAGS}v1")
    die_moving(trained, ["refs/heads/main", f"{TAGS}v1"])
    told: list[Any] = []
    again = await bring(trained.root, told=told)
    assert again.commit is None
    assert trained.git("rev-parse", f"{TAGS}v1^{{commit}}") == done.commit
    assert trained.git("for-each-ref", "--format=%(contents)", f"{TAGS}v1") == message
    assert [e.text for e in told if isinstance(e, Note) and "was made" in e.text] == [
        f"{TAGS}v1 was made: its transaction was interrupted"
    ]
    await bring(trained.root)
    assert releases(trained) == ["skill/topics/v1"]


async def test_where_the_branch_had_not_moved_there_is_nothing_to_finish(trained: Yard) -> None:
    die_moving(trained, ["refs/heads/main", f"{TAGS}v1"])
    done = await bring(trained.root)
    assert done.tag == f"{TAGS}v1"
    assert trained.git("rev-parse", f"{TAGS}v1^{{commit}}") == done.commit


def die_moving(trained: Yard, refs: list[str]) -> None:
    """What a process leaves that was killed while it moved refs."""
    lock = SkillLock.acquire(Repository.open(trained.root), SKILL, "merge")
    lock.expect(refs)
    lock.release()


def sign_tags(trained: Yard, folder: Path) -> None:
    """Let git sign tags with an SSH key."""
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", key], check=True)
    (folder / "signers").write_text(f"test@example.com {key.with_suffix('.pub').read_text()}")
    settings = {"gpg.format": "ssh", "user.signingkey": str(key), "tag.gpgsign": "true"}
    for name, value in {**settings, "gpg.ssh.allowedSignersFile": str(folder / "signers")}.items():
        trained.git("config", name, value)


async def test_a_signed_release(trained: Yard, tmp_path: Path) -> None:
    sign_tags(trained, tmp_path)
    await bring(trained.root)
    trained.git("tag", "-v", "skill/topics/v1")


async def test_a_release_that_cannot_be_signed_moves_nothing(trained: Yard) -> None:
    for name, value in {"gpg.format": "ssh", "user.signingkey": "nowhere", "tag.gpgsign": "true"}.items():
        trained.git("config", name, value)
    before = trained.refs()
    with pytest.raises(RefusedError, match="the tag could not be signed"):
        await bring(trained.root)
    assert trained.refs() == before
    assert trained.git("status", "--porcelain") == ""
    assert (trained.root / DOCUMENT).read_text() == LONG
