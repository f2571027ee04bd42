"""Commit objects that other tools wrote."""

from __future__ import annotations

from pathlib import Path

from support import repos

from skillgit.store import commits
from skillgit.store.repository import Repository

TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def raw(head: str, body: bytes) -> bytes:
    return head.encode() + b"\n\n" + body


def test_signatures_and_merged_tags_are_passed_over() -> None:
    head = (
        f"tree {TREE}\nparent {'a' * 40}\nparent {'b' * 40}\nauthor A <a@x> 12 +0100\ncommitter B C <b@x> 34 -0230\n"
        "mergetag object c\n type commit\n tree nothing\ngpgsig -----BEGIN\n parent wrong\n \n -----END"
    )
    info = commits.parse_commit("c" * 40, raw(head, b"Subject\n\ntree not this\n"))
    assert info.tree == TREE
    assert info.parents == ("a" * 40, "b" * 40)
    assert (info.author, info.author_time, info.committer, info.commit_time) == ("A <a@x>", 12, "B C <b@x>", 34)
    assert info.message == "Subject\n\ntree not this\n"


def test_other_encodings() -> None:
    head = f"tree {TREE}\nauthor A <a@x> 1 +0000\ncommitter A <a@x> 1 +0000\nencoding "
    assert commits.parse_commit("", raw(head + "ISO-8859-1", b"Gr\xfc\xdfe\n")).message == "Grüße\n"
    assert commits.parse_commit("", raw(head + "no-such", "Grüße\n".encode())).message == "Grüße\n"
    assert commits.parse_commit("", raw(head[:-10], b"\xff\n")).message == "\ufffd\n"


def test_odd_persons_and_messages() -> None:
    head = f"tree {TREE}\nauthor nonsense\ncommitter  <> 5 +0000"
    info = commits.parse_commit("", raw(head, b""))
    assert (info.author, info.author_time, info.commit_time) == ("nonsense", 0, 5)
    assert (info.subject, info.message) == ("", "")


def test_a_message_that_a_commit_can_hold() -> None:
    assert commits.encoded("a\0b\ud800") == b"ab?\n"
    assert commits.encoded("a\n\n") == b"a\n\n"


def test_a_commit_in_latin1_by_git(tmp_path: Path) -> None:
    where = repos.make_repo(tmp_path / "r", {"a": "1"})
    repos.git(where, "config", "i18n.commitEncoding", "ISO-8859-1")
    repos.git(where, "commit", "-q", "--allow-empty", "-F", "-", input="Grüße".encode("latin-1"))
    repo = Repository.open(where)
    tip = repos.git(where, "rev-parse", "HEAD")
    assert repo.objects.read_commit(tip).message == "Grüße\n"
    # What we write is UTF-8 whatever people set for themselves.
    ours = repo.objects.write_commit(repo.objects.tree_of(tip), [tip], "Grüße\n")
    assert b"encoding" not in repo.objects.read(ours).data
    assert repos.git(where, "log", "-1", "--format=%s", "--encoding=UTF-8", ours) == "Grüße"
