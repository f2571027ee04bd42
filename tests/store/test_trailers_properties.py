"""Any message that we write is read back by git as we wrote it: many at once, since each question to git is a process.

The oracles are `git interpret-trailers --no-divider --parse`, `git log` on real commits and `git for-each-ref` on real
tags, also with settings of a person that change how git reads messages.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import repos

from skillgit.store import trailers
from skillgit.store.commits import encoded, parse_commit

WHO = "A <a@example.com> 1767323045 +0000"
SCISSORS = "------------------------ >8 ------------------------"
OURS = [("Skill-Name", "support-triage"), ("Skill-Step", "7"), ("Skill-Score", "0.812500")]
PIECES = [
    *("---", "--- ", " ---", "---\t", "--- a/x", "-- ", "diff --git a/x b/x", "@@ -1 +1 @@", "Index: x"),
    *("Skill-Score: 1.000000", "Skill-Blob: 0", "skill-score:1", "Skill-Score : 1", "Skill-Score=1", "Skill-Score #1"),
    *("Signed-off-by: A <a@example.com>", "(cherry picked from commit 0123)", "Conflicts:", "\tskills/SKILL.md"),
    *("# Conflicts:", "#\tSKILL.md", "# comment", "; comment", "Scomment", f"# {SCISSORS}", f"; {SCISSORS}", SCISSORS),
    *("\r", "\r\n", "\n", "\n\n", " ", "\t", "\v", "\f", "\x85", "\u2028", "\u2029", "\0", "\x1b[31m", "\x7f", "\x9b"),
    *(
        "👩‍👩‍👧‍👦",
        "🇩🇪",
        "é",
        "e\u0301",
        "שלום עולם",
        "\u202egnp.exe\u202c",
        "\u2067abc\u2069",
        "\ufeff",
        "\u200b",
        "\u00ad",
    ),
    *(
        "\ud800",
        "\udfff",
        "\U0010ffff",
        "\ufffe",
        "字" * 40,
        "x" * 5000,
        "a " * 3000,
        ":",
        ": ",
        "Key:",
        "-",
        "fixup! x",
    ),
    *("[PATCH 1/2] x", "From 0123 Mon Sep 17 00:00:00 2001", ">From x", "tree 0123", "gpgsig x", "encoding latin1"),
]
text = st.one_of(
    st.sampled_from(PIECES),
    st.text(max_size=80),
    st.text(alphabet=st.characters(codec=None), max_size=80),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=8).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=6).map("\n".join),
)
keys = st.sampled_from(["Skill-Score", "Skill-Blob", "Skill-Reason", "X", "a", "Signed-off-by"])
blocks = st.one_of(st.just(OURS), st.lists(st.tuples(keys, text), min_size=1, max_size=5))
messages = st.lists(st.tuples(text, text, blocks), min_size=1, max_size=25)
relaxed = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repos.make_repo(tmp_path_factory.mktemp("trailers") / "r", {"a": "1\n"})


def ran(folder: Path, *arguments: str, input: bytes | None = None) -> str:
    """What git prints, byte for byte."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        input=input,
        capture_output=True,
        check=True,
        env={**repos.ENV, "PATH": os.environ["PATH"], "LC_ALL": "C"},
    )
    return done.stdout.decode("utf-8", "surrogateescape")


def interpreted(folder: Path, written: Sequence[str], *flags: str) -> list[list[tuple[str, str]]]:
    """What `git interpret-trailers --no-divider --parse` makes of each message. It prints no border between its files,
    so that a file with a trailer of its own stands behind each."""
    with tempfile.TemporaryDirectory() as place:
        border = Path(place, "border")
        border.write_text("border\n\nborder: 0\n")
        paths = []
        for number, message in enumerate(written):
            path = Path(place, str(number))
            path.write_bytes(encoded(message))
            paths += [str(path), str(border)]
        out = ran(folder, *flags, "interpret-trailers", "--no-divider", "--parse", *paths)
    parts = out.split("border: 0\n")
    assert parts.pop() == ""
    return [[pair(line) for line in part.split("\n")[:-1]] for part in parts]


def pair(line: str) -> tuple[str, str]:
    key, _, value = line.partition(":")
    return key, value.strip(" \t\r\n")


def committed(folder: Path, written: Sequence[str]) -> list[str]:
    """A commit with each message, by `git fast-import`, which takes messages as they are."""
    stream = b""
    for mark, message in enumerate(written, start=1):
        data = encoded(message)
        head = f"commit refs/heads/import\nmark :{mark}\ncommitter {WHO}\ndata {len(data)}\n"
        stream += head.encode() + data + b"\n"
    marks = folder / ".git/marks"
    ran(folder, "fast-import", "--quiet", "--force", f"--export-marks={marks}", input=stream)
    found = dict(line.split() for line in marks.read_text().splitlines())
    return [found[f":{mark}"] for mark in range(1, len(written) + 1)]


def logged(folder: Path, commits: Sequence[str], what: str, *flags: str) -> list[str]:
    """What `git log` prints of each commit, in the order asked for."""
    asked = "".join(f"{commit}\n" for commit in commits).encode()
    out = ran(folder, *flags, "log", "--no-walk=unsorted", "--stdin", "-z", f"--format={what}", input=asked)
    return out.split("\0")[: len(commits)]


def shown(rows: Sequence[str]) -> list[list[tuple[str, str]]]:
    return [[pair(line) for line in row.split("\n") if line] for row in rows]


def as_lines(block: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """What is expected of a block: values as one line."""
    return [(key, trailers.one_line(value)) for key, value in block]


@given(batch=messages)
@relaxed
def test_git_reads_back_what_we_write(folder: Path, batch: list[tuple[str, str, list[tuple[str, str]]]]) -> None:
    written = [trailers.format_message(*one) for one in batch]
    expected = [as_lines(block) for _, _, block in batch]
    assert [trailers.parse_trailers(message) for message in written] == expected
    assert interpreted(folder, written) == expected
    commits = committed(folder, written)
    assert shown(logged(folder, commits, "%(trailers:only=true,unfold=true)")) == expected
    assert shown(logged(folder, commits, "%(trailers)")) == expected
    scores = logged(folder, commits, "%(trailers:key=Skill-Score,valueonly,separator=%x0a)")
    own = [[value for key, value in block if key == "Skill-Score" and value] for block in expected]
    assert [[value for value in row.split("\n") if value] for row in scores] == own


@given(batch=messages)
@relaxed
def test_subject_and_body_come_back(folder: Path, batch: list[tuple[str, str, list[tuple[str, str]]]]) -> None:
    """The subject as one line, the body as we cleaned it, and nothing of one in the other."""
    written = [trailers.format_message(*one) for one in batch]
    commits = committed(folder, written)
    for (subject, _, block), message, one, whole in zip(
        batch, written, logged(folder, commits, "%s"), logged(folder, commits, "%B"), strict=True
    ):
        assert one == (trailers.one_line(subject) or "(no subject)")
        assert whole == message.rstrip("\n") + "\n"
        above = message[len(one) + 2 :]
        ours = "".join(f"{key}: {value}".rstrip() + "\n" for key, value in as_lines(block))
        assert above.endswith(ours)
        # What is left is the body: no line end but \n, and no white space at an end.
        body = above.removesuffix(ours)
        assert not set(body) & set("\r\v\f\0\x85\u2028\u2029\x1b")
        assert all(line == line.rstrip() for line in body.split("\n"))


@given(batch=messages)
@relaxed
def test_our_own_reading_of_a_commit_object(folder: Path, batch: list[tuple[str, str, list[tuple[str, str]]]]) -> None:
    written = [trailers.format_message(*one) for one in batch]
    for commit, message in zip(committed(folder, written), written, strict=True):
        data = subprocess.run(["git", "cat-file", "commit", commit], cwd=folder, capture_output=True, check=True).stdout
        info = parse_commit(commit, data)
        assert info.message == message
        assert info.subject == message.split("\n")[0]


@given(batch=messages)
@settings(relaxed, max_examples=20)
def test_tags_are_read_back_too(folder: Path, batch: list[tuple[str, str, list[tuple[str, str]]]]) -> None:
    written = [trailers.format_message(*one) for one in batch]
    tip = ran(folder, "rev-parse", "HEAD").strip()
    stream = b""
    for number, message in enumerate(written):
        data = encoded(message)
        head = f"tag t{number:03d}\nfrom {tip}\ntagger {WHO}\ndata {len(data)}\n"
        stream += head.encode() + data + b"\n"
    ran(folder, "fast-import", "--quiet", "--force", input=stream)
    out = ran(folder, "for-each-ref", "--format=%(contents:trailers:only,unfold)%00", "refs/tags/t*")
    found = shown(out.split("\0\n")[: len(written)])
    ran(
        folder,
        "update-ref",
        "--stdin",
        input="".join(f"delete refs/tags/t{n:03d}\n" for n in range(len(written))).encode(),
    )
    assert found == [as_lines(block) for _, _, block in batch]


SETTINGS = {
    "comment character": ("-c", "core.commentChar=;"),
    "another comment character": ("-c", "core.commentChar=-"),
    "more separators": ("-c", "trailer.separators=:=#"),
    "known trailers": ("-c", "trailer.skill-score.key=Skill-Score", "-c", "trailer.sign.key=Signed-off-by: "),
    "placed at the start": ("-c", "trailer.where=start", "-c", "trailer.ifexists=replace"),
    "another encoding": ("-c", "i18n.commitEncoding=ISO-8859-1"),
}


@pytest.mark.parametrize("flags", SETTINGS.values(), ids=SETTINGS)
@given(batch=st.lists(st.tuples(text, text, st.just(OURS)), min_size=1, max_size=25))
@settings(relaxed, max_examples=10)
def test_with_settings_of_a_person(
    folder: Path, flags: tuple[str, ...], batch: list[tuple[str, str, list[tuple[str, str]]]]
) -> None:
    written = [trailers.format_message(*one) for one in batch]
    assert interpreted(folder, written, *flags) == [OURS] * len(batch)
    commits = committed(folder, written)
    assert shown(logged(folder, commits, "%(trailers:only=true,unfold=true)", *flags)) == [OURS] * len(batch)


@given(batch=st.lists(st.tuples(text, text, st.just(OURS)), min_size=1, max_size=4), strip=st.booleans())
@settings(relaxed, max_examples=25)
def test_what_git_does_to_a_message_that_it_commits_again(
    folder: Path, batch: list[tuple[str, str, list[tuple[str, str]]]], strip: bool
) -> None:
    """An amend, a rebase or a cherry-pick cleans white space, an editor's visit takes comments out as well."""
    written = [trailers.format_message(*one) for one in batch]
    flags = ["--strip-comments"] if strip else []
    again = [ran(folder, "stripspace", *flags, input=encoded(message)) for message in written]
    # A subject that is a comment is gone; then the block is all that is left, and git takes it for the title.
    kept = [text for text in again if not text.startswith("Skill-Name")]
    assert [trailers.parse_trailers(text) for text in kept] == [OURS] * len(kept)
    assert interpreted(folder, kept) == [OURS] * len(kept)


LINES = [
    *("Skill-Score: 1", "Key : spaced", "Signed-off-by: A <a@example.com>", "(cherry picked from commit 0123)"),
    *("plain words", " continued", "\tcontinued too", "# comment", "", " ", "---", "Conflicts:", "\tpath", "no:space"),
    *(":nothing before", "Key:", "a b: two words", "Key: crlf\r", "\r", "é: letter", "Ключ: x", "K\u0301: x", "👩: x"),
    *(
        f"# {SCISSORS}",
        SCISSORS,
        "Key:\tv",
        "Key:: v",
        "Skill-Blob:  0  ",
        "-: x",
        "1: x",
        "Key:\u00a0x",
        "Key\u00a0: x",
    ),
]


@given(batch=st.lists(st.lists(st.sampled_from(LINES), max_size=12).map("\n".join), min_size=1, max_size=40))
@relaxed
def test_peoples_messages_are_read_as_git_reads_them(folder: Path, batch: list[str]) -> None:
    """Commits of people, and those that a rebase, a squash or a cherry-pick made of ours."""
    written = [message + "\n" for message in batch]
    assert [trailers.parse_trailers(message) for message in written] == interpreted(folder, written)
    # `git log` begins a message with its first line that is not blank, `git commit` never writes one before it.
    begun = [re.sub(r"\A(?:[ \t\r]*\n)+", "", message) for message in written]
    found = [trailers.parse_trailers(message) for message in begun]
    assert found == shown(logged(folder, committed(folder, begun), "%(trailers:only,unfold)"))
