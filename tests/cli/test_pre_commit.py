"""The hooks beside pre-commit, and through it: with the real program, where it is installed."""

from __future__ import annotations

import importlib.util
import json
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support import cli, hooked, repos
from support.cli import Done
from support.hooked import DOCUMENT, TEXT, TOKEN, git, logging_hook, message

import skillgit

MANIFEST = Path(skillgit.__file__).parent.parent / ".pre-commit-hooks.yaml"
HOOKS = ("commit-msg", "pre-push", "post-merge")
PROGRAM = [sys.executable, "-m", "pre_commit"] if importlib.util.find_spec("pre_commit") else []
if not PROGRAM and (found := shutil.which("pre-commit")):
    PROGRAM = [found]
pytestmark = pytest.mark.skipif(not PROGRAM, reason="pre-commit is not installed")

OWN = """\
repos:
- repo: local
  hooks:
  - {id: own, name: own, language: system, entry: 'OWN', always_run: true, pass_filenames: false,
     stages: [commit-msg, pre-push, post-merge]}
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose pre-commit configuration has one hook of its own, which writes a log."""
    hooked.on_path(monkeypatch, tmp_path / "bin")
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "cache"))
    made = hooked.make(tmp_path / "r", bare_remote=True)
    hooked.program(tmp_path / "own", f"echo own >>'{tmp_path / 'log'}'\n")
    repos.commit(made, {".pre-commit-config.yaml": OWN.replace("OWN", str(tmp_path / "own"))})
    repos.git(made, "branch", "-f", "skill/ops", "main")
    return made


def pre_commit(root: Path, *args: str) -> Done:
    done = subprocess.run([*PROGRAM, *args], cwd=root, capture_output=True, text=True, check=False, timeout=120)
    return Done(done.returncode, done.stdout, done.stderr)


def theirs(root: Path) -> None:
    done = pre_commit(root, "install", *(f"--hook-type={hook}" for hook in HOOKS))
    assert done.code == 0, done


def ours(root: Path) -> None:
    done = cli.call(root, "hooks", "install")
    assert done.code == 0, done


def files(root: Path) -> dict[str, tuple[bytes, int]]:
    found = (path for path in (root / ".git/hooks").iterdir() if not path.name.endswith(".sample"))
    return {path.name: (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) for path in found}


Installed = Callable[[Path], None]
ORDERS: list[tuple[bool, list[Installed]]] = [
    (False, [ours, theirs]),
    (False, [theirs, ours]),
    (True, [ours, theirs, ours]),
    (True, [theirs, ours, theirs]),
    (True, [ours, theirs, theirs, ours, ours, theirs]),
]
"""Whether a hook of somebody else is there first, and who installs when."""


@pytest.mark.parametrize(("earlier", "order"), ORDERS)
def test_all_hooks_run_once_in_any_order_of_installation(
    root: Path, tmp_path: Path, earlier: bool, order: list[Installed]
) -> None:
    log = tmp_path / "log"
    if earlier:
        for hook in HOOKS:
            logging_hook(root / ".git/hooks" / hook, log)
    for step in order:
        step(root)
    rows = json.loads(cli.call(root, "hooks", "status", "--json").out)["hooks"]
    assert [(row["state"], row["behind_pre_commit"], row["earlier"] is not None) for row in rows] == (
        [("installed", True, earlier)] * 3
    )
    repos.git(root, "switch", "-q", "skill/ops")
    assert "is not the document of this commit" in git(root, "commit", "--allow-empty", "-m", message("a" * 40)).err
    done = git(root, "commit", "--allow-empty", "-m", "By hand")
    assert done.code == 0, done
    repos.git(root, "commit", "-q", "--allow-empty", "--no-verify", "-m", f"Use {TOKEN}")
    assert "has a secret (github)" in git(root, "push", "origin", "skill/ops").err
    said = log.read_text().splitlines()
    assert said.count("own") == 3
    if earlier:
        ran = [line.partition(" ")[0] for line in said if line.startswith(HOOKS)]
        assert ran == ["commit-msg.before-skillgit"] * 2 + ["pre-push.before-skillgit"]
        assert sum(line.startswith("refs/heads/skill/ops") for line in said) == 1


@pytest.mark.parametrize("first", [ours, theirs])
@pytest.mark.parametrize("leaves", [ours, theirs])
def test_each_leaves_without_the_other(root: Path, tmp_path: Path, first: Installed, leaves: Installed) -> None:
    for hook in HOOKS:
        logging_hook(root / ".git/hooks" / hook, tmp_path / "log")
    start = files(root)
    (ours if leaves is theirs else theirs)(root)
    alone = files(root)
    if leaves is theirs:
        cli.call(root, "hooks", "uninstall")
    else:
        pre_commit(root, "uninstall", *(f"--hook-type={hook}" for hook in HOOKS))
    assert files(root) == start
    first(root)
    (theirs if first is ours else ours)(root)
    if leaves is ours:
        assert cli.call(root, "hooks", "uninstall").code == 0
    else:
        assert pre_commit(root, "uninstall", *(f"--hook-type={hook}" for hook in HOOKS)).code == 0
    assert files(root) == alone


def test_pre_commit_s_overwrite_is_told_and_made_good(root: Path, tmp_path: Path) -> None:
    logging_hook(root / ".git/hooks/commit-msg", tmp_path / "log")
    ours(root)
    pre_commit(root, "install", "-f", "--hook-type=commit-msg")
    states = {r["hook"]: r["state"] for r in json.loads(cli.call(root, "hooks", "status", "--json").out)["hooks"]}
    assert states == {"commit-msg": "missing", "pre-push": "installed", "post-merge": "installed"}
    ours(root)
    repos.git(root, "switch", "-q", "skill/ops")
    assert git(root, "commit", "--allow-empty", "-m", message("a" * 40)).code == 1
    assert (tmp_path / "log").read_text().splitlines() == ["commit-msg.before-skillgit 1", "own"]


@pytest.fixture
def framework(root: Path, tmp_path: Path) -> Path:
    """The hooks of our manifest through the framework; `language: system`, since packages are not fetched here."""
    source = repos.make_repo(tmp_path / "source", {MANIFEST.name: MANIFEST.read_bytes()})
    ids = ("skillgit-commit-msg", "skillgit-pre-push", "skillgit-post-merge", "skillgit-check")
    rows = "".join(f"  - {{id: {each}, language: system}}\n" for each in ids)
    rev = repos.git(source, "rev-parse", "HEAD")
    config = f"repos:\n- repo: {source}\n  rev: {rev}\n  hooks:\n{rows}"
    repos.commit(root, {".pre-commit-config.yaml": config})
    repos.git(root, "branch", "-f", "skill/ops", "main")
    pre_commit(root, "install", "--hook-type=pre-commit", *(f"--hook-type={hook}" for hook in HOOKS))
    return root


def test_the_manifest_is_valid() -> None:
    assert pre_commit(MANIFEST.parent, "validate-manifest", str(MANIFEST)).code == 0


def test_the_framework_runs_the_commit_message_s_check(framework: Path) -> None:
    repos.git(framework, "switch", "-q", "skill/ops")
    done = git(framework, "commit", "--allow-empty", "-m", message("a" * 40))
    assert done.code == 1
    assert "Skill-Blob: aaaaaaaaaaaa is not the document of this commit" in done.err
    assert git(framework, "commit", "--allow-empty", "-m", "By hand").code == 0


def test_the_framework_runs_the_push_s_check(framework: Path) -> None:
    repos.git(framework, "switch", "-q", "skill/ops")
    repos.commit(framework, {DOCUMENT: TEXT + f"- Use {TOKEN}\n"})
    done = git(framework, "push", "origin", "skill/ops")
    assert done.code == 1
    assert "has a secret (github)" in done.err + done.out


def test_the_framework_says_what_a_merge_left(framework: Path) -> None:
    repos.git(framework, "switch", "-q", "-c", "topic")
    repos.commit(framework, {DOCUMENT: TEXT + "- x\n", "skills/ops/best_skill.md": TEXT})
    repos.git(framework, "switch", "-q", "main")
    done = git(framework, "merge", "topic")
    assert done.code == 0
    assert "nobody measured it" in done.err + done.out


def test_the_framework_checks_a_skill_that_is_committed(framework: Path) -> None:
    (framework / DOCUMENT).write_text(TEXT + "\nSee [more](references/more.md).\n")
    repos.git(framework, "add", DOCUMENT)
    done = git(framework, "commit", "-m", "By hand")
    assert done.code == 1
    assert f"{DOCUMENT}:10: references/more.md does not exist" in done.err + done.out
    (framework / DOCUMENT).write_text(TEXT + "- By hand.\n")
    repos.git(framework, "add", DOCUMENT)
    assert git(framework, "commit", "-m", "By hand").code == 0
