"""What people do to a skill's branch with plain git. Each makes of the branch, or beside it, something whose commits
still carry the trailers of the commits that they were made from; gives the revisions that are worth a look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from support import repos
from support.training import BRANCH, DOCUMENT, Yard

Rewrite = Callable[[Yard], list[str]]
SHORT = "skill/topics"
_EDITOR = {"GIT_EDITOR": "true", "FILTER_BRANCH_SQUELCH_WARNING": "1"}


def git(root: Path, *args: str, env: Mapping[str, str] | None = None, check: bool = True) -> str:
    """git without an editor; filter-branch needs to know where its own parts are."""
    return repos.git(root, *args, env={**_EDITOR, **(env or {})}, check=check)


def change(text: str, what: str = "please") -> str:
    """A document with another word in a line that nobody trains."""
    assert "with the code." in text
    return text.replace("with the code.", f"with the code, {what}.")


def on_branch(here: Yard, act: Callable[[Path], object]) -> list[str]:
    """Check the branch out, do it, and go back."""
    here.git("checkout", "-q", SHORT)
    act(here.root)
    here.git("checkout", "-q", "main")
    return history(here)


def history(here: Yard, rev: str = BRANCH) -> list[str]:
    """A revision's commits that its base lacks, newest first, and the base."""
    return [*here.git("rev-list", rev, "--not", "main").split(), "main"]


def write(root: Path, text: str) -> None:
    """Write the document in the work tree and stage it."""
    (root / DOCUMENT).write_bytes(text.encode())
    git(root, "add", DOCUMENT)


def finish(root: Path, command: str) -> None:
    """Resolve each conflict with both sides' lines, in any order, until the command has ended."""
    while git(root, "ls-files", "--unmerged") or git(root, "diff", "--name-only", "--diff-filter=U"):
        lines = (root / DOCUMENT).read_text().splitlines(keepends=True)
        write(root, "".join(line for line in lines if not line.startswith(("<<<<<<<", "=======", ">>>>>>>"))))
        git(root, command, "--continue", check=False)


def rebase_clean(here: Yard) -> list[str]:
    """Onto a base that changed elsewhere: other commits, the same documents."""
    repos.commit(here.root, {"other.txt": "1\n"}, "Other")
    return on_branch(here, lambda root: git(root, "rebase", "-q", "main"))


def rebase_changed(here: Yard) -> list[str]:
    """Onto a base whose document changed in another line: other documents under the old trailers."""
    repos.commit(here.root, {DOCUMENT: change(here.text("main"))}, "A person's words")
    return on_branch(here, lambda root: git(root, "rebase", "-q", "main"))


def rebase_conflict(here: Yard) -> list[str]:
    """Onto a base whose document ends in other lines: conflicts, resolved by hand."""
    repos.commit(here.root, {DOCUMENT: here.text("main") + "\n- a person's rule\n"}, "A person's rule")

    def act(root: Path) -> None:
        git(root, "rebase", "-q", "main", check=False)
        assert git(root, "ls-files", "--unmerged")
        finish(root, "rebase")

    return on_branch(here, act)


def reorder(here: Yard) -> list[str]:
    """An interactive rebase that drops a commit from the middle."""

    def act(root: Path) -> None:
        editor = {"GIT_SEQUENCE_EDITOR": "sed -i 1d"}
        base = git(root, "merge-base", "main", "HEAD")
        git(root, "rebase", "-q", "-i", base, env=editor, check=False)
        finish(root, "rebase")

    return on_branch(here, act)


def squash(command: str) -> Rewrite:
    """An interactive rebase that makes one commit of all, with all messages (squash) or the first one (fixup)."""

    def make(here: Yard) -> list[str]:
        base = here.git("merge-base", "main", BRANCH)
        editor = {"GIT_SEQUENCE_EDITOR": f"sed -i '2,$s/^pick/{command}/'"}
        return on_branch(here, lambda root: git(root, "rebase", "-q", "-i", base, env=editor))

    return make


def amend_document(here: Yard) -> list[str]:
    """The newest commit with another document and the old message."""

    def act(root: Path) -> None:
        write(root, change((root / DOCUMENT).read_text()))
        git(root, "commit", "-q", "--amend", "--no-edit")

    return on_branch(here, act)


def amend_message(here: Yard) -> list[str]:
    """The newest commit with the same document and trailers, and another author's line below them."""
    return on_branch(here, lambda root: git(root, "commit", "-q", "--amend", "--no-edit", "--signoff"))


def squash_merge(here: Yard) -> list[str]:
    """`git merge --squash` into a base whose document has changed, with the message that git makes."""
    repos.commit(here.root, {DOCUMENT: change(here.text("main"))}, "A person's words")
    git(here.root, "merge", "-q", "--squash", SHORT)
    git(here.root, "commit", "-q", "--no-edit")
    return ["main", *history(here)]


def cherry_pick(here: Yard) -> list[str]:
    """Skill commits, each alone, onto another branch whose document has changed."""
    tips = here.git("rev-list", "--reverse", BRANCH, "--not", "main").split()
    here.git("checkout", "-q", "-b", "other")
    repos.commit(here.root, {DOCUMENT: change(here.text("main"))}, "A person's words")
    found = []
    for commit in tips[-2:]:
        git(here.root, "cherry-pick", "-x", commit, check=False)
        finish(here.root, "cherry-pick")
        found.append(here.git("rev-parse", "HEAD"))
    here.git("checkout", "-q", "main")
    return [*found, "other", *history(here)]


def cherry_pick_onto_base(here: Yard) -> list[str]:
    """The newest skill commit alone on the base."""
    git(here.root, "cherry-pick", BRANCH, check=False)
    finish(here.root, "cherry-pick")
    return ["main", *here.git("rev-list", "-3", "main").split(), *history(here)]


def by_mail(here: Yard) -> list[str]:
    """`git format-patch` and `git am --3way` onto a base whose document has changed."""
    patches = here.git("format-patch", "--stdout", f"main..{SHORT}")
    here.git("checkout", "-q", "-b", "mailed")
    repos.commit(here.root, {DOCUMENT: change(here.text("main"))}, "A person's words")
    repos.git(here.root, "am", "-q", "--3way", input=patches + "\n")
    here.git("checkout", "-q", "main")
    return history(here, "mailed")


def revert(here: Yard) -> list[str]:
    """`git revert` of the newest commit and of one before it."""

    def act(root: Path) -> None:
        git(root, "revert", "--no-edit", "HEAD")
        git(root, "revert", "--no-edit", "HEAD~2", check=False)
        finish(root, "revert")

    return on_branch(here, act)


def filter_documents(here: Yard) -> list[str]:
    """Another document in every commit, and every message as it was."""
    script = f"sed -i 's/with the code/with the whole code/' {DOCUMENT}"
    git(here.root, "filter-branch", "-f", "--tree-filter", script, SHORT, "--not", "main")
    here.git("update-ref", "-d", f"refs/original/{BRANCH}")
    return history(here)


def filter_messages(here: Yard) -> list[str]:
    """The same documents, under trailers with other scores."""
    script = "sed 's/^Skill-Score: .*/Skill-Score: 1.000000/'"
    git(here.root, "filter-branch", "-f", "--msg-filter", script, SHORT, "--not", "main")
    here.git("update-ref", "-d", f"refs/original/{BRANCH}")
    return history(here)


def merge_base_by_hand(here: Yard) -> list[str]:
    """`git merge main` on the branch, where the base's document has changed."""
    repos.commit(here.root, {DOCUMENT: change(here.text("main"))}, "A person's words")
    return on_branch(here, lambda root: git(root, "merge", "-q", "--no-edit", "main"))


def rewind(here: Yard) -> list[str]:
    """Back to the first edit of a candidate, whose document was never measured."""
    commits = here.git("rev-list", "--reverse", BRANCH, "--not", "main").split()
    here.git("update-ref", BRANCH, commits[0])
    return [commits[0], *commits[1:], "main"]


def rewind_to_base(here: Yard) -> list[str]:
    """All the way back."""
    tip = here.git("rev-parse", BRANCH)
    here.git("update-ref", BRANCH, here.git("merge-base", "main", BRANCH))
    return [BRANCH, tip]


def forced_elsewhere(here: Yard) -> list[str]:
    """Another clone amends the branch and pushes it by force; it is fetched here."""
    remote, clone = here.root.with_name("remote.git"), here.root.with_name("clone")
    here.git("clone", "-q", "--bare", str(here.root), str(remote))
    here.git("remote", "add", "origin", str(remote))
    here.git("fetch", "-q", "origin")
    repos.git(here.root, "clone", "-q", str(remote), str(clone))
    repos.identify(clone)
    repos.git(clone, "checkout", "-q", SHORT)
    (clone / DOCUMENT).write_text(change((clone / DOCUMENT).read_text()))
    repos.git(clone, "commit", "-q", "--amend", "-a", "--no-edit")
    repos.git(clone, "push", "-q", "--force", "origin", SHORT)
    here.git("fetch", "-q", "origin")
    return [f"origin/{SHORT}", *history(here)]


def forced_and_taken(here: Yard) -> list[str]:
    """The same, and the branch here is set to it."""
    revs = forced_elsewhere(here)
    here.git("update-ref", BRANCH, f"refs/remotes/origin/{SHORT}")
    return [*revs, *history(here)]


def forged(here: Yard) -> list[str]:
    """A person's commit under trailers that a person wrote: of a real step, and of no run."""
    last = here.git("log", "-1", "--format=%B", BRANCH)

    def act(root: Path) -> None:
        for number, drop in enumerate(("", "Skill-Run", "Skill-Step"), start=1):
            write(root, (root / DOCUMENT).read_text() + f"\nForged {number}.\n")
            blob = git(root, "rev-parse", f":{DOCUMENT}")
            lines = [
                f"Skill-Blob: {blob}" if line.startswith("Skill-Blob") else line
                for line in last.splitlines()
                if not (drop and line.startswith(drop))
            ]
            lines = ["Skill-Score: 1.000000" if line.startswith("Skill-Score:") else line for line in lines]
            git(root, "commit", "-q", "-m", "\n".join(lines))

    return on_branch(here, act)


REWRITES: dict[str, Rewrite] = {
    "rebase clean": rebase_clean,
    "rebase changed": rebase_changed,
    "rebase conflict": rebase_conflict,
    "reorder": reorder,
    "squash": squash("squash"),
    "fixup": squash("fixup"),
    "amend document": amend_document,
    "amend message": amend_message,
    "squash merge": squash_merge,
    "cherry pick": cherry_pick,
    "cherry pick onto base": cherry_pick_onto_base,
    "by mail": by_mail,
    "revert": revert,
    "filter documents": filter_documents,
    "filter messages": filter_messages,
    "merge base by hand": merge_base_by_hand,
    "rewind": rewind,
    "rewind to base": rewind_to_base,
    "forced elsewhere": forced_elsewhere,
    "forced and taken": forced_and_taken,
    "forged": forged,
}
