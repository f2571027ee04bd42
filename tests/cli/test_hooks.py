"""`skillgit hooks` on real repositories, with git calling what was installed."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import cli, hooked, repos
from support.hooked import BEST, BRANCH, DOCUMENT, TEXT, TOKEN, git, logging_hook, message, program

HOOKS = ["commit-msg", "pre-push", "post-merge"]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    hooked.on_path(monkeypatch, tmp_path / "bin")
    return hooked.make(tmp_path / "r", bare_remote=True)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def install(root: Path) -> cli.Done:
    done = cli.call(root, "hooks", "install")
    assert done.code == 0, done.err
    return done


def states(root: Path) -> dict[str, str]:
    return {row["hook"]: row["state"] for row in status(root)["hooks"]}


def status(root: Path) -> dict[str, Any]:
    return dict(json.loads(cli.call(root, "hooks", "status", "--json").out))


def blob(root: Path, rev: str = "HEAD") -> str:
    return repos.git(root, "rev-parse", f"{rev}:{DOCUMENT}")


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every hook's bytes and mode, samples left out."""
    found = (path for path in folder.iterdir() if not path.name.endswith(".sample"))
    return {path.name: (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) for path in found}


# commit-msg


def test_a_person_commits_on_a_skill_s_branch(root: Path) -> None:
    install(root)
    repos.git(root, "switch", "-q", "skill/ops")
    assert git(root, "commit", "--allow-empty", "-m", "By hand").code == 0


def test_an_amended_commit_cannot_keep_the_score_of_another_document(root: Path) -> None:
    install(root)
    repos.git(root, "switch", "-q", "skill/ops")
    assert git(root, "commit", "--allow-empty", "-m", message(blob(root))).code == 0
    tip = repos.git(root, "rev-parse", "HEAD")
    (root / DOCUMENT).write_text(TEXT + "- By hand.\n")
    done = git(root, "commit", "-a", "--amend", "--no-edit")
    assert done.code == 1
    assert done.err.splitlines() == [
        f"skillgit: error: this commit is refused: Skill-Blob: {blob(root)[:12]} is not the document of this commit, "
        "so its score is another one's; remove the Skill- trailers"
    ]
    assert repos.git(root, "rev-parse", "HEAD") == tip
    assert git(root, "commit", "-a", "--amend", "-m", "By hand").code == 0
    assert git(root, "commit", "--amend", "--allow-empty", "-m", message(blob(root))).code == 0


@pytest.mark.parametrize("how", [("-a",), (DOCUMENT,), ("-i", DOCUMENT), ()])
def test_the_document_of_the_commit_that_is_made_counts(root: Path, how: tuple[str, ...]) -> None:
    """Whole or in part, git hands the hook another index for each."""
    install(root)
    repos.git(root, "switch", "-q", "skill/ops")
    (root / DOCUMENT).write_text(TEXT + "- By hand.\n")
    new = repos.git(root, "hash-object", DOCUMENT)
    if not how:
        repos.git(root, "add", DOCUMENT)
    assert git(root, "commit", "-m", message(blob(root)), *how).code == 1
    assert git(root, "commit", "-m", message(new), *how).code == 0


def test_no_verify_passes_by(root: Path) -> None:
    install(root)
    repos.git(root, "switch", "-q", "skill/ops")
    assert git(root, "commit", "--allow-empty", "-m", message("a" * 40)).code == 1
    assert git(root, "commit", "--allow-empty", "--no-verify", "-m", message("a" * 40)).code == 0


def test_several_reasons_have_a_line_each(root: Path) -> None:
    install(root)
    repos.git(root, "switch", "-q", "skill/ops")
    done = git(root, "commit", "--allow-empty", "-m", message(blob(root), Score="nan", Step="x"))
    assert done.err.splitlines() == [
        "skillgit: Skill-Step: 'x' is not a number; remove the Skill- trailers",
        "skillgit: Skill-Score: 'nan' is not a score from 0.000000 to 1.000000, with six decimals; "
        "remove the Skill- trailers",
        "skillgit: error: this commit is refused for 2 reasons; they stand above",
    ]


def test_a_secret_in_a_message_is_refused(root: Path) -> None:
    install(root)
    repos.git(root, "switch", "-q", "skill/ops")
    done = git(root, "commit", "--allow-empty", "-m", f"Use {TOKEN}")
    assert done.code == 1
    assert TOKEN not in done.err


@pytest.mark.parametrize("comment", ["#", ";"])
def test_trailers_above_an_editor_s_comments_are_read(root: Path, tmp_path: Path, comment: str) -> None:
    install(root)
    repos.git(root, "config", "core.commentChar", comment)
    repos.git(root, "switch", "-q", "skill/ops")
    (tmp_path / "message").write_text(message("a" * 40))
    editor = program(tmp_path / "editor", f'cat \'{tmp_path / "message"}\' "$1" >"$1.new" && mv "$1.new" "$1"\n')
    done = git(root, "commit", "--allow-empty", "--verbose", env={"GIT_EDITOR": str(editor)})
    assert "Skill-Blob: aaaaaaaaaaaa is not the document of this commit" in done.err
    assert done.code == 1


def test_other_branches_and_no_branch_are_not_ours(root: Path) -> None:
    install(root)
    assert git(root, "commit", "--allow-empty", "-m", message("a" * 40)).code == 0
    repos.git(root, "switch", "-q", "--detach", "skill/ops")
    assert git(root, "commit", "--allow-empty", "-m", message("a" * 40)).code == 0


def test_without_a_configuration_the_blob_may_be_any_file_of_the_commit(root: Path) -> None:
    install(root)
    repos.git(root, "switch", "-q", "skill/ops")
    (root / "skillgit.yaml").write_text("skills: [")
    assert git(root, "commit", "--allow-empty", "-m", message(blob(root))).code == 0
    assert git(root, "commit", "--allow-empty", "-m", message("a" * 40)).code == 1


def test_a_linked_work_tree_has_the_hooks_and_its_own_index(root: Path, tmp_path: Path) -> None:
    install(root)
    repos.git(root, "worktree", "add", "-q", str(tmp_path / "w"), "skill/ops")
    (tmp_path / "w" / DOCUMENT).write_text(TEXT + "- By hand.\n")
    old = blob(root)
    assert git(tmp_path, "-C", "w", "commit", "-a", "-m", message(old)).code == 1
    assert (
        git(tmp_path / "w", "commit", "-a", "-m", message(repos.git(tmp_path / "w", "hash-object", DOCUMENT))).code == 0
    )
    assert cli.call(tmp_path / "w", "hooks", "status", "--json").out == cli.call(root, "hooks", "status", "--json").out


def test_the_repository_that_git_names_counts_and_not_the_one_around(root: Path, tmp_path: Path) -> None:
    install(root)
    repos.git(root, "switch", "-q", "skill/ops")
    other = repos.make_repo(tmp_path / "other", {"a": "b"})
    named = ("--git-dir", str(root / ".git"), "--work-tree", str(other))
    assert git(other, *named, "commit", "--allow-empty", "-m", message("a" * 40)).code == 1
    assert git(other, *named, "commit", "--allow-empty", "-m", message(blob(root))).code == 0
    assert git(root, "-C", str(other), "commit", "--allow-empty", "-m", message("a" * 40)).code == 0


# pre-push


def test_a_push_of_a_skill_is_looked_at(root: Path) -> None:
    install(root)
    repos.git(root, "switch", "-q", "skill/ops")
    repos.commit(root, {DOCUMENT: TEXT + f"- Use {TOKEN}\n"})
    done = git(root, "push", "origin", "skill/ops")
    assert done.code == 1
    tip = repos.git(root, "rev-parse", "--short=12", "HEAD")
    (said, *_) = done.err.splitlines()
    assert said.startswith(
        f"skillgit: error: this push is refused: commit {tip} has a secret (github) in {DOCUMENT}, line 9; take it out"
    )
    assert git(root, "push", "--no-verify", "origin", "skill/ops").code == 0


def test_what_git_says_counts_and_not_what_an_outer_framework_left_in_variables(root: Path) -> None:
    install(root)
    repos.git(root, "switch", "-q", "skill/ops")
    repos.commit(root, {DOCUMENT: TEXT + f"- Use {TOKEN}\n"})
    left = {f"PRE_COMMIT_{name}": repos.git(root, "rev-parse", "main") for name in ("TO_REF", "FROM_REF")}
    done = git(root, "push", "origin", "skill/ops", env={**left, "PRE_COMMIT_REMOTE_BRANCH": "refs/heads/main"})
    assert done.code == 1
    assert "has a secret (github)" in done.err


def test_branches_and_tags_of_others_go_out_untouched(root: Path) -> None:
    install(root)
    repos.commit(root, {"notes.txt": TOKEN})
    assert git(root, "push", "origin", "main").code == 0


def test_a_rewound_branch_is_not_forced_out(root: Path) -> None:
    install(root)
    repos.git(root, "switch", "-q", "skill/ops")
    repos.commit(root, {DOCUMENT: TEXT + "- x\n"})
    assert git(root, "push", "origin", "skill/ops").code == 0
    repos.git(root, "commit", "-q", "--amend", "--no-verify", "-m", "Other")
    done = git(root, "push", "--force", "origin", "skill/ops")
    assert done.code == 1
    assert f"{BRANCH} on origin has commits that this push would drop; run `skillgit fetch`" in done.err
    assert git(root, "push", "origin", ":skill/ops").code == 1
    assert git(root, "push", "origin", "+main:skill/ops").code == 1


def test_evidence_goes_out_only_when_asked_for(root: Path) -> None:
    install(root)
    repos.git(root, "update-ref", f"refs/skillgit/evidence/ops/{hooked.RUN}", "main")
    spec = "refs/skillgit/*:refs/skillgit/*"
    assert git(root, "push", "origin", spec).code == 1
    assert git(root, "-c", "skillgit.pushEvidence=true", "push", "--dry-run", "origin", spec).code == 0
    assert git(root, "push", "origin", spec, env={"SKILLGIT_PUSH_EVIDENCE": "1"}).code == 0


# post-merge


def merged(root: Path, best: str) -> str:
    repos.git(root, "switch", "-q", "-c", "topic")
    repos.commit(root, {DOCUMENT: TEXT + "- By hand.\n", BEST: best})
    repos.git(root, "switch", "-q", "main")
    done = git(root, "merge", "--no-verify", "--no-ff", "-m", "Merge", "topic")
    assert done.code == 0
    return done.err


def test_a_merge_says_which_document_nobody_measured(root: Path) -> None:
    install(root)
    assert merged(root, TEXT) == (
        f"skillgit: ops: {DOCUMENT} on main differs from {BEST}: nobody measured it; "
        "`skillgit train ops` measures it, `skillgit status ops` says more\n"
    )


def test_a_merge_says_nothing_where_all_is_measured(root: Path) -> None:
    install(root)
    assert merged(root, TEXT + "- By hand.\n") == ""


def test_a_merge_without_best_or_on_the_skill_s_branch_says_nothing(root: Path) -> None:
    install(root)
    repos.git(root, "branch", "topic", "main")
    repos.git(root, "switch", "-q", "topic")
    repos.commit(root, {DOCUMENT: TEXT + "- x\n"})
    repos.git(root, "switch", "-q", "main")
    assert git(root, "merge", "topic").err == ""
    repos.commit(root, {BEST: TEXT})
    repos.git(root, "switch", "-q", "skill/ops")
    assert git(root, "merge", "main").err == ""


# installing


def test_hooks_come_and_go_without_a_trace(root: Path) -> None:
    folder = root / ".git/hooks"
    before = files(folder)
    assert [line.split()[0] for line in install(root).out.splitlines()] == HOOKS
    assert states(root) == dict.fromkeys(HOOKS, "installed")
    assert install(root).code == 0
    assert cli.call(root, "hooks", "uninstall").code == 0
    assert files(folder) == before
    assert states(root) == dict.fromkeys(HOOKS, "missing")


def test_a_repository_without_a_hooks_folder_gets_one(tmp_path: Path) -> None:
    repos.git(tmp_path, "init", "-q", "--template=", "r")
    install(tmp_path / "r")
    assert states(tmp_path / "r") == dict.fromkeys(HOOKS, "installed")


def test_a_bare_repository_has_hooks_too(tmp_path: Path) -> None:
    root = repos.make_repo(tmp_path / "r.git", bare=True)
    install(root)
    assert (root / "hooks/pre-push").exists()


def test_earlier_hooks_run_first_with_arguments_and_input(root: Path, log: Path) -> None:
    folder = root / ".git/hooks"
    for hook in HOOKS:
        logging_hook(folder / hook, log)
    before = files(folder)
    assert "commit-msg  installed; the hook that was there runs first" in install(root).out
    repos.git(root, "switch", "-q", "skill/ops")
    assert git(root, "commit", "--allow-empty", "-m", message("a" * 40)).code == 1
    assert git(root, "commit", "--allow-empty", "-m", "By hand").code == 0
    tip, old = repos.git(root, "rev-parse", "HEAD"), repos.git(root, "rev-parse", "HEAD^")
    assert git(root, "push", "origin", "skill/ops").code == 0
    repos.git(root, "switch", "-q", "main")
    assert git(root, "merge", "skill/ops").code == 0
    assert log.read_text().splitlines() == [
        "commit-msg.before-skillgit 1",
        "commit-msg.before-skillgit 1",
        "pre-push.before-skillgit 2",
        f"{BRANCH} {tip} {BRANCH} {old}",
        "post-merge.before-skillgit 1",
    ]
    assert cli.call(root, "hooks", "uninstall").code == 0
    assert files(folder) == before


def test_an_earlier_hook_s_refusal_is_handed_on(root: Path, log: Path) -> None:
    for hook in HOOKS:
        logging_hook(root / ".git/hooks" / hook, log, code=3)
    install(root)
    assert git(root, "commit", "--allow-empty", "-m", "By hand").code == 1
    repos.git(root, "commit", "-q", "--no-verify", "--allow-empty", "-m", "By hand")
    assert git(root, "push", "origin", "main").code == 1
    assert merged(root, TEXT).startswith("skillgit: ops: ")
    done = subprocess.run([root / ".git/hooks/post-merge", "0"], cwd=root, capture_output=True, check=False)
    assert done.returncode == 3  # git does not look at it; another program may


def test_an_earlier_hook_that_reads_nothing_breaks_nothing(root: Path) -> None:
    program(root / ".git/hooks/pre-push", "exit 0\n")
    install(root)
    repos.git(root, "switch", "-q", "skill/ops")
    repos.commit(root, {DOCUMENT: TEXT + "- x\n"})
    assert git(root, "push", "origin", "skill/ops").code == 0
    assert repos.git(root.with_name("remote.git"), "rev-parse", BRANCH) == repos.git(root, "rev-parse", BRANCH)


def test_a_hook_that_is_switched_off_or_a_link_stays_what_it_is(root: Path, log: Path, tmp_path: Path) -> None:
    folder = root / ".git/hooks"
    logging_hook(folder / "commit-msg", log, code=1).chmod(0o644)
    logging_hook(tmp_path / "shared", log)
    (folder / "post-merge").symlink_to("../../../shared")
    (folder / "pre-push").symlink_to("nowhere")
    install(root)
    assert git(root, "commit", "--allow-empty", "-m", "By hand").code == 0
    assert merged(root, TEXT) != ""
    assert log.read_text() == "post-merge.before-skillgit 1\n"
    assert cli.call(root, "hooks", "uninstall").code == 0
    assert (folder / "post-merge").readlink() == Path("../../../shared")
    assert (folder / "pre-push").readlink() == Path("nowhere")
    assert stat.S_IMODE((folder / "commit-msg").stat().st_mode) == 0o644


def test_a_script_that_somebody_changed_is_never_touched(root: Path) -> None:
    install(root)
    path = root / ".git/hooks/commit-msg"
    path.write_text(path.read_text() + "# mine\n")
    kept = files(path.parent)["commit-msg"]
    for verb in ("install", "uninstall"):
        assert "commit-msg  left as it is: somebody changed it" in cli.call(root, "hooks", verb).out
        assert files(path.parent)["commit-msg"] == kept
    assert states(root) == {"commit-msg": "changed", "pre-push": "missing", "post-merge": "missing"}


def test_a_hook_that_took_our_place_is_kept_with_the_one_before(root: Path, log: Path) -> None:
    folder = root / ".git/hooks"
    first = logging_hook(folder / "commit-msg", log).read_bytes()
    install(root)
    program(folder / "commit-msg", "exit 0\n")
    second = (folder / "commit-msg").read_bytes()
    done = cli.call(root, "hooks", "install")
    assert done.code == 2
    assert done.last.startswith(
        f"skillgit: error: {folder / 'commit-msg'} is not ours, and there is a commit-msg.before-"
    )
    assert "is kept: another hook took its place" in cli.call(root, "hooks", "uninstall").out
    assert (folder / "commit-msg").read_bytes() == second
    assert (folder / "commit-msg.before-skillgit").read_bytes() == first


def test_nothing_is_installed_where_one_hook_would_be_lost(root: Path, log: Path) -> None:
    folder = root / ".git/hooks"
    logging_hook(folder / "post-merge", log)
    logging_hook(folder / "post-merge.before-skillgit", log)
    before = files(folder)
    assert cli.call(root, "hooks", "install").code == 2
    assert files(folder) == before


def test_a_crash_between_the_renames_is_made_good(root: Path, log: Path) -> None:
    folder = root / ".git/hooks"
    logging_hook(folder / "commit-msg", log)
    before = files(folder)
    for verb, last in (("install", "installed"), ("uninstall", "missing")):
        (folder / "commit-msg").rename(folder / "commit-msg.before-skillgit")
        assert cli.call(root, "hooks", verb).code == 0
        assert states(root)["commit-msg"] == last
        assert cli.call(root, "hooks", "uninstall").code == 0
        assert files(folder) == before


def test_a_script_that_lost_its_mode_is_told_and_renewed(root: Path) -> None:
    install(root)
    (root / ".git/hooks/pre-push").chmod(0o644)
    assert "pre-push    at " in cli.call(root, "hooks", "status").out
    assert states(root)["pre-push"] == "switched-off"
    assert "pre-push    renewed" in install(root).out
    assert states(root)["pre-push"] == "installed"


# where hooks lie


@pytest.mark.parametrize("scope", ["local", "global"])
def test_a_configured_folder_is_used_and_said(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    assert git(root, "config", f"--{scope}", "core.hooksPath", str(tmp_path / "shared hooks")).code == 0
    done = install(root)
    said = {"local": "skillgit: core.hooksPath is ", "global": "skillgit: core.hooksPath is set for all repositories"}
    assert done.err.startswith(said[scope])
    assert sorted(path.name for path in (tmp_path / "shared hooks").iterdir()) == sorted(HOOKS)
    assert status(root)["hooks_path"] == scope
    repos.git(root, "switch", "-q", "skill/ops")
    assert git(root, "commit", "--allow-empty", "-m", message("a" * 40)).code == 1


def test_a_folder_of_the_project_is_said(root: Path) -> None:
    repos.git(root, "config", "core.hooksPath", ".githooks")
    assert "among the project's files: commit what is there, or ignore it" in install(root).err
    repos.git(root, "switch", "-q", "skill/ops")
    assert git(root, "commit", "--allow-empty", "-m", message("a" * 40)).code == 1


def test_husky_s_own_folder_is_refused_with_what_to_do(root: Path) -> None:
    repos.git(root, "config", "core.hooksPath", ".husky/_")
    done = cli.call(root, "hooks", "install")
    assert done.code == 2
    assert 'add the line `skillgit hooks run HOOK "$@"` to .husky/HOOK' in done.last
    assert not (root / ".husky").exists()


def test_hooks_that_are_off_are_said(root: Path) -> None:
    repos.git(root, "config", "core.hooksPath", "/dev/null")
    for verb in ("install", "uninstall", "status"):
        assert cli.call(root, "hooks", verb).code == 2


# where skillgit is


def test_the_python_that_installed_it_is_the_second_choice(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(root)
    hooked.off_path(monkeypatch)
    repos.git(root, "switch", "-q", "skill/ops")
    (root / "click.py").write_text("raise SystemExit('a file of the project was imported')\n")
    done = git(root, "commit", "--allow-empty", "-m", message("a" * 40))
    assert done.code == 1
    assert "Skill-Blob: aaaaaaaaaaaa is not" in done.err


@pytest.mark.parametrize("broken", [False, True])
def test_without_skillgit_commits_and_merges_go_on_and_skills_stay_here(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "gone/python"))
    install(root)
    if broken:  # its environment was removed, and the script was not
        (tmp_path / "bin/skillgit").write_text("#!/nowhere/python\n")
    else:
        hooked.off_path(monkeypatch)
    repos.git(root, "switch", "-q", "skill/ops")
    done = git(root, "commit", "--allow-empty", "-m", message("a" * 40))
    assert done.code == 0
    assert done.err.splitlines()[-1] == "skillgit: not found, so this commit message was not checked"
    done = git(root, "push", "origin", "skill/ops")
    assert done.code == 1
    assert "skillgit: not found, so what would go out was not checked; install it, or pass by" in done.err
    repos.git(root, "switch", "-q", "main")
    assert git(root, "push", "origin", "main:other").code == 0
    assert merged(root, TEXT).splitlines()[-1] == "skillgit: not found, so the merged documents were not looked at"


# what is refused as usage


def test_hooks_run_takes_what_git_gives(root: Path) -> None:
    assert cli.call(root, "hooks", "run", "pre-rebase").code == 2
    assert cli.call(root, "hooks", "run", "commit-msg").code == 2
    repos.git(root, "switch", "-q", "skill/ops")
    done = cli.call(root, "hooks", "run", "commit-msg", "nowhere")
    assert done.last == "skillgit: error: nowhere: No such file or directory; name the file with the message"


def test_a_merge_never_fails_for_us(tmp_path: Path) -> None:
    done = cli.call(tmp_path, "hooks", "run", "post-merge", "0")
    assert done.code == 0
    assert done.err.startswith(f"skillgit: {tmp_path} is not in a git repository")


def test_outside_of_a_repository_one_line_says_so(tmp_path: Path) -> None:
    for verb in ("install", "uninstall", "status"):
        done = cli.call(tmp_path, "hooks", verb)
        assert done.code == 2
        assert "is not in a git repository" in done.last
