"""`skillgit check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import cli, hooked, repos
from support.hooked import DOCUMENT, TEXT


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return hooked.make(tmp_path / "r")


def write(root: Path, text: str, name: str = DOCUMENT) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def test_the_documents_of_the_configuration_are_checked(root: Path) -> None:
    assert cli.call(root, "check") == cli.Done(0, "", "skillgit: 1 document checked: no findings\n")
    write(root, TEXT + "\n[a](references/a.md)\n[b](references/b.md)\n")
    write(root, "x", "skills/ops/references/b.md")
    assert cli.call(root, "check") == cli.Done(
        2,
        f"{DOCUMENT}:10: references/a.md does not exist\n",
        "skillgit: 1 document checked: 1 error, 0 warnings\n",
    )
    below = cli.call(root / "skills", "check")
    assert below.out == f"{DOCUMENT}:10: references/a.md does not exist\n"


@pytest.mark.parametrize("target", ["a" * 5000, "a/" * 3000 + "b", "a%00b", "references/loop", "SKILL.md/x"])
def test_links_that_no_file_can_have(root: Path, target: str) -> None:
    (root / "skills/ops/references").mkdir(parents=True, exist_ok=True)
    (root / "skills/ops/references/loop").symlink_to("loop")
    write(root, TEXT + f"\n[a]({target})\n")
    done = cli.call(root, "check")
    assert (done.code, done.out.count("\n")) == (2, 1), done.err
    assert done.out.startswith(f"{DOCUMENT}:10: ")


def test_json_has_the_same_facts(root: Path) -> None:
    write(root, TEXT + "\n[a](references/a.md)\n" + "x\n" * 500)
    done = cli.call(root, "check", "--json")
    assert json.loads(done.out) == [
        {"path": DOCUMENT, "line": 10, "level": "error", "message": "references/a.md does not exist"},
        {
            "path": DOCUMENT,
            "line": 501,
            "level": "warning",
            "message": "510 lines, more than 500: move details to references/",
        },
    ]
    assert (done.code, done.err) == (2, "")


def test_warnings_count_only_when_they_are_to(root: Path) -> None:
    write(root, TEXT + "x\n" * 500)
    plain, strict = cli.call(root, "check"), cli.call(root, "check", "--strict")
    assert (
        plain.out == strict.out == f"{DOCUMENT}:501: warning: 508 lines, more than 500: move details to references/\n"
    )
    assert (plain.code, strict.code) == (0, 2)


def test_paths_are_files_skills_and_folders_of_skills(root: Path) -> None:
    write(root, TEXT, "skills/other/SKILL.md")
    write(root, "no skill", "skills/notes.md")
    write(root, TEXT, "skills/.hidden/SKILL.md")
    said = "skills/other/SKILL.md:2: the name 'ops' is not that of the skill's folder, 'other'\n"
    assert cli.call(root, "check", "skills").out == said
    assert cli.call(root, "check", "skills/other").out == said
    assert cli.call(root, "check", "skills/other/SKILL.md", "skills/notes.md", DOCUMENT).out == said


def test_no_repository_is_needed_for_paths(tmp_path: Path) -> None:
    write(tmp_path, TEXT, "ops/SKILL.md")
    assert cli.call(tmp_path, "check", "ops").code == 0


def test_a_skill_at_the_root_of_a_clone_may_have_another_name(tmp_path: Path) -> None:
    root = repos.make_repo(tmp_path / "clone", {"SKILL.md": TEXT})
    assert cli.call(root, "check", "SKILL.md").code == 0


def test_a_bare_repository_is_checked_as_committed(root: Path, tmp_path: Path) -> None:
    repos.commit(root, {DOCUMENT: TEXT + "\n[a](references/a.md)\n"})
    repos.git(tmp_path, "clone", "-q", "--bare", str(root), "bare.git")
    assert cli.call(tmp_path / "bare.git", "check").out == f"{DOCUMENT}:10: references/a.md does not exist\n"


def test_a_link_of_the_file_system_does_not_lead_out(root: Path) -> None:
    write(root, TEXT + "\n[a](references/a.md)\n")
    (root / "skills/ops/references").mkdir()
    (root / "skills/ops/references/a.md").symlink_to(root / "README.md")
    assert "leads out of the skill's folder through a link" in cli.call(root, "check").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere.md",), "nowhere.md: No such file or directory; name a document that can be read"),
        (("envs",), "envs: there is no SKILL.md in this folder; name a document, or a skill's folder"),
    ],
)
def test_a_path_that_leads_nowhere_is_said(root: Path, arguments: tuple[str, ...], said: str) -> None:
    (root / "envs").mkdir()
    done = cli.call(root, "check", *arguments)
    assert (done.code, done.out, done.last) == (2, "", f"skillgit: error: {said}")


def test_what_a_document_says_cannot_move_the_cursor(root: Path) -> None:
    write(root, TEXT + "\n[a](references/\x1b[2J.md)\n")
    assert "\x1b" not in cli.call(root, "check").out
