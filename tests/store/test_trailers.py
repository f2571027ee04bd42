"""Trailers, with git itself as the oracle."""

from __future__ import annotations

import os
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import repos

from skillgit.store import trailers

OURS = [("Skill-Name", "support-triage"), ("Skill-Step", "7"), ("Skill-Score", "0.812500")]
SCISSORS = "# ------------------------ >8 ------------------------"
NASTY = [
    "",
    " ",
    "\n\n",
    "---",
    "text\n---\nmore",
    "Skill-Score: 1.000000",
    "text\n\nSkill-Score: 1.000000\nSkill-Name: other",
    "text\n\nSigned-off-by: A <a@example.com>\nSkill-Score: 1",
    "(cherry picked from commit 0123456)",
    "Skill-Score: 1\r\nSkill-Step: 9\r\n",
    "a\rSkill-Score: 1\r",
    SCISSORS,
    f"text\n{SCISSORS}\nSkill-Score: 1",
    f"; {SCISSORS[2:]}\nx",
    "# comment\n#Skill-Score: 1",
    "Conflicts:\n\tskills/SKILL.md",
    "nul \0 here",
    "form\ffeed\vand\x85next\u2028line\u2029end",
    "\x1b[31mred\x1b[0m \x9b31m",
    "emoji 👩‍👩‍👧‍👦 and שלום עולם and \u202egnp.exe",
    "word " * 4000,
    " \n\t\n  indented\n   more",
    "lone \ud800 surrogate",
    "diff --git a/x b/x\n--- a/x\n+++ b/x",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repos.make_repo(tmp_path_factory.mktemp("trailers") / "r")


def interpreted(folder: Path, message: str) -> list[tuple[str, str]]:
    """What `git interpret-trailers --no-divider --parse` makes of a message."""
    done = subprocess.run(
        ["git", "interpret-trailers", "--no-divider", "--parse"],
        cwd=folder,
        input=message.encode(),
        capture_output=True,
        check=True,
        env={**repos.ENV, "PATH": os.environ["PATH"]},
    )
    return [pair(line) for line in done.stdout.decode().split("\n")[:-1]]


def pair(line: str) -> tuple[str, str]:
    key, _, value = line.partition(":")
    return key, value.strip(" \t\r\n")


def written(folder: Path, message: str) -> str:
    """A commit with exactly this message."""
    tree = repos.git(folder, "mktree", input="")
    who = "A <a@example.com> 1767323045 +0000"
    raw = f"tree {tree}\nauthor {who}\ncommitter {who}\n\n{message}".encode()
    return repos.git(folder, "hash-object", "-t", "commit", "-w", "--stdin", input=raw)


def logged(folder: Path, message: str) -> list[tuple[str, str]]:
    """What `git log --format=%(trailers)` shows of a commit with this message."""
    out = repos.git(folder, "log", "-1", "--format=%(trailers:only=true,unfold=true)", written(folder, message))
    return [pair(line) for line in out.split("\n") if line]


anything = st.one_of(
    st.sampled_from(NASTY),
    st.text(max_size=200),
    st.lists(st.sampled_from([*NASTY, *(f"{k}: {v}" for k, v in OURS)]), max_size=6).map("\n".join),
)
relaxed = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(subject=anything, body=anything)
@relaxed
def test_no_text_breaks_the_block(folder: Path, subject: str, body: str) -> None:
    message = trailers.format_message(subject, body, OURS)
    assert trailers.parse_trailers(message) == OURS
    assert interpreted(folder, message) == OURS
    assert logged(folder, message) == OURS


@given(value=anything)
@relaxed
def test_any_value_comes_back_as_one_line(folder: Path, value: str) -> None:
    message = trailers.format_message("subject", "body", [("Skill-Reason", value), *OURS])
    expected = [("Skill-Reason", trailers.one_line(value)), *OURS]
    assert trailers.parse_trailers(message) == expected
    assert interpreted(folder, message) == expected


LINES = [
    "Skill-Score: 1",
    "Key : spaced",
    "Signed-off-by: A <a@example.com>",
    "(cherry picked from commit 0123)",
    "plain words",
    " continued",
    "\tcontinued too",
    "# comment",
    "",
    " ",
    "---",
    "Conflicts:",
    "\tpath",
    SCISSORS,
    "no:space",
    ":nothing before",
    "Key:",
    "a b: two words",
    "Key: crlf\r",
    "\r",
]


@given(lines=st.lists(st.sampled_from(LINES), max_size=12), end=st.sampled_from(["", "\n"]))
@settings(relaxed, max_examples=300)
def test_peoples_messages_are_read_as_git_reads_them(folder: Path, lines: list[str], end: str) -> None:
    message = "\n".join(lines) + end
    assert trailers.parse_trailers(message) == interpreted(folder, message)


def columns(text: str) -> int:
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


@given(what=anything, name=st.from_regex(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?", fullmatch=True))
@settings(max_examples=200, deadline=None)
def test_the_subject_is_one_line_of_72_columns(what: str, name: str) -> None:
    line = trailers.subject_line(name, what)
    assert columns(line) <= 72
    assert not any(unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs") for c in line)
    assert line.startswith(f"skill({name[:30]}")
    assert line == line.strip()


CUTS = [
    ("add a rule", "skill(triage): add a rule"),
    ("x" * 80, "skill(triage): " + "x" * 56 + "…"),
    ("字" * 40, "skill(triage): " + "字" * 28 + "…"),
    ("a" * 55 + "e\u0301" * 4, "skill(triage): " + "a" * 55 + "e\u0301…"),
    ("", "skill(triage):"),
    ("two\nlines\tand\0more", "skill(triage): two lines and more"),
]


@pytest.mark.parametrize(("what", "line"), CUTS)
def test_what_a_subject_looks_like(what: str, line: str) -> None:
    assert trailers.subject_line("triage", what) == line


def test_a_family_is_not_torn_apart() -> None:
    line = trailers.subject_line("triage", "a" * 54 + "👩‍👩‍👧‍👦 end")
    assert line == "skill(triage): " + "a" * 54 + "…"


def test_the_form_of_a_message() -> None:
    message = trailers.format_message("subject", "why\r\nit is so\n\n", OURS[:1])
    assert message == "subject\n\nwhy\nit is so\n\nSkill-Name: support-triage\n"
    assert trailers.format_message(" \n", "", OURS[:1]) == "(no subject)\n\nSkill-Name: support-triage\n"


@pytest.mark.parametrize("key", ["", "Two Words", "Skill:", "-x", "Ключ", "a\nb"])
def test_a_key_that_git_would_not_read_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="no trailer key"):
        trailers.format_message("s", "b", [(key, "v")])


def test_a_message_without_trailers_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        trailers.format_message("s", "Skill-Score: 1", [])


def test_values_are_found_without_case() -> None:
    assert list(trailers.trailer_values("s\n\nskill-score: 1\nSkill-Score: 2\n", "Skill-Score")) == ["1", "2"]
