"""Put the hooks beside those that are there, take them away again, and say what lies where.

A hook that was there keeps its bytes: it is renamed to `<hook>.before-skillgit`, and our script runs it first.
pre-commit does the same with `<hook>.legacy`; where its script is, ours takes the place behind it, whichever was
installed first, so that each runs once. What somebody else wrote is never removed and never written over.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skillgit.envs.builtin import builtin_folder
from skillgit.errors import RefusedError
from skillgit.store.repository import Repository
from skillgit.train.hooks.places import HooksFolder, Seat, content, hooks_folder, on_disk, seat
from skillgit.train.hooks.scripts import HOOKS, script

State = Literal["installed", "changed", "switched-off", "missing"]


@dataclass(frozen=True, slots=True)
class Row:
    """What is, or was done, with one hook.

    Args:
        hook: its name.
        state: `installed`: git runs it; `changed`: our script, changed by somebody; `switched-off`: it cannot be
            executed; `missing`: git does not run ours.
        path: our script, or where it would be.
        did: what was done, in words for people; empty where nothing was.
        earlier: the hook that was there before and runs first; None where there is none.
        behind_pre_commit: whether pre-commit's script is git's hook, and runs ours.
    """

    hook: str
    state: State
    path: Path
    did: str
    earlier: Path | None
    behind_pre_commit: bool


def status(repo: Repository) -> tuple[HooksFolder, list[Row]]:
    """Where hooks lie, and how each of ours stands.

    Raises:
        RefusedError: hooks are switched off, or a file cannot be read.
    """
    folder = hooks_folder(repo)
    return folder, [_row(seat(folder.path, name)) for name in HOOKS]


def install(repo: Repository) -> tuple[HooksFolder, list[Row]]:
    """Put all hooks in their places, or none.

    Raises:
        RefusedError: hooks are switched off or husky's; an earlier hook would be lost; the disk said no.
    """
    folder = hooks_folder(repo)
    if folder.husky:
        lines = '`skillgit hooks run HOOK "$@"`'
        mend = f"add the line {lines} to .husky/HOOK, for HOOK commit-msg, pre-push and post-merge"
        raise RefusedError(f"husky writes {folder.path} anew, so nothing else stays there", mend=mend)
    seats = [seat(folder.path, name) for name in HOOKS]
    for each in seats:
        _refuse_loss(each)
    on_disk(lambda: folder.path.mkdir(parents=True, exist_ok=True), folder.path)
    did = [_put(each) for each in seats]
    return folder, [_row(seat(folder.path, each.name), what) for each, what in zip(seats, did, strict=True)]


def uninstall(repo: Repository) -> tuple[HooksFolder, list[Row]]:
    """Take our hooks away and put those that were there before back.

    Raises:
        RefusedError: hooks are switched off, or the disk said no.
    """
    folder = hooks_folder(repo)
    seats = [seat(folder.path, name) for name in HOOKS]
    did = [_take(each) for each in seats]
    return folder, [_row(seat(folder.path, each.name), what) for each, what in zip(seats, did, strict=True)]


def _refuse_loss(found: Seat) -> None:
    if found.kind not in ("other", "pre-commit") or not found.earlier:
        return
    message = f"{found.path} is not ours, and there is a {found.earlier_path.name} from before it"
    raise RefusedError(message, mend="keep the one that you want as that hook, and move the other out of the folder")


def _put(found: Seat) -> str:
    """Write our script to its place; what was there becomes the earlier hook."""
    if found.kind == "changed":
        return "left as it is: somebody changed it"
    template = (builtin_folder("hooks") / found.name).read_text(encoding="utf-8")
    wanted = script(template, sys.executable)
    before = found.kind in ("other", "pre-commit")
    if found.kind == "ours" and content(found.path) == wanted and os.access(found.path, os.X_OK):
        return ""

    def work() -> None:
        if before:
            os.rename(found.path, found.earlier_path)
        _write(found.path, wanted)
        if not found.behind and found.legacy == "ours":  # left there by a pre-commit that is gone
            found.legacy_path.unlink()

    on_disk(work, found.path)
    if before:
        return f"installed; the hook that was there runs first, as {found.earlier_path.name}"
    return "renewed" if found.kind == "ours" else "installed"


def _write(path: Path, data: bytes) -> None:
    """Write a program whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o777)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _take(found: Seat) -> str:
    """Remove our script, and put the earlier hook back in its place."""
    ours = [p for p, k in ((found.hook_path, found.hook), (found.legacy_path, found.legacy)) if k == "ours"]
    if not ours and "changed" in (found.hook, found.legacy):
        return "left as it is: somebody changed it"
    if not ours and found.earlier and found.hook == "none":
        ours = [found.hook_path]  # somebody removed our script alone
    if not ours:
        return f"{found.earlier_path.name} is kept: another hook took its place" if found.earlier else ""

    def work() -> None:
        for path in ours:
            if found.earlier and path == ours[0]:
                os.replace(found.earlier_path, path)
            else:
                path.unlink()

    on_disk(work, found.path)
    return "the hook that was there is back" if found.earlier else "removed"


def _row(found: Seat, did: str = "") -> Row:
    state: State = "missing"
    if found.kind == "ours":
        state = "installed" if os.access(found.path, os.X_OK) else "switched-off"
    elif found.kind == "changed":
        state = "changed"
    earlier = found.earlier_path if found.earlier and found.kind in ("ours", "changed") else None
    return Row(found.name, state, found.path, did, earlier, found.behind)
