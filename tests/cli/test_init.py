"""`skillgit init`: refuses what could not be trained, and changes nothing that exists."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import cli, repos
from support.place import Place
from support.server import Server
from support.training import SKILL


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "which skill? the repository has none; name it with --skill NAME"),
        (("--skill", "Bad Name"), "--skill: 'Bad Name' is no skill name: "),
        (("--skill", "con"), "--skill: 'con' is no skill name: "),
        (("--skill", "a", "--document", "../x/SKILL.md"), "--document: '../x/SKILL.md' does not lie inside"),
        (("--skill", "a", "--document", "/x/SKILL.md"), "--document: '/x/SKILL.md' does not lie inside"),
        (("--skill", "a", "--document", "x/"), "skillgit.yaml:7: skills.a.document: 'x/' is no file name; "),
        (
            ("--skill", "a", "--document", ".git/SKILL.md"),
            "skillgit.yaml:7: skills.a.document: '.git/SKILL.md' lies",
        ),
        (
            ("--skill", "a", "--document", "best_skill.md"),
            "skillgit.yaml:7: skills.a.document: best_skill.md is what",
        ),
        (("--skill", "a", "--env", "../x"), "--env: '../x' does not lie inside the repository"),
        (("--skill", "a", "--env", "builtin/nope"), "env: there is no built-in environment 'nope'; "),
    ],
)
def test_refused(tmp_path: Path, server: Server, arguments: tuple[str, ...], message: str) -> None:
    place = Place(repos.make_repo(tmp_path / "in/r"), server)
    assert place.refused("init", *arguments).startswith(message)
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["r"]


@pytest.mark.parametrize("kind", ["skillgit.yaml is a folder", "skills is a file"])
def test_something_is_in_the_way(tmp_path: Path, server: Server, kind: str) -> None:
    place = Place(repos.make_repo(tmp_path / "r"), server)
    if "folder" in kind:
        (place.root / "skillgit.yaml").mkdir()
    else:
        (place.root / "skills").write_text("a file\n")
    said = place.refused("init", "--skill", "a")
    assert said in (
        "skillgit.yaml: Is a directory; make it a file that can be read",
        "skills/a/SKILL.md: skills is a file; move it, or name another path",
    )


@pytest.mark.parametrize("name", ["12", "1e3", "true", "no", "null", "2026-01-02"])
def test_what_it_writes_can_be_read(tmp_path: Path, name: str) -> None:
    root = repos.make_repo(tmp_path / "r")
    repos.git(root, "checkout", "-q", "-b", "a,#{b")
    arguments = ("--document", "my docs/a #1, {x}: y.md", "--env", "my envs/a: b")
    assert cli.call(root, "init", "--skill", name, *arguments).code == 0
    done = cli.call(root, "status")
    assert (done.code, done.out.splitlines()[0]) == (0, f"{name}: my docs/a #1, {{x}}: y.md")
    assert cli.call(root, "doctor", "--offline").out.count("wrong") == 1, "only that nothing is committed yet"


def test_nothing_that_exists_is_changed(place: Place) -> None:
    before = place.seen()
    done = cli.call(place.root, "init", "--skill", SKILL)
    assert (done.code, done.out) == (0, "nothing is missing\n")
    assert place.seen() == before
