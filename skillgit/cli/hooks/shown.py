"""How `skillgit hooks` prints what lies where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgit.cli.output import one_line, print_json, say

if TYPE_CHECKING:
    from skillgit.train.hooks.installing import Row
    from skillgit.train.hooks.places import HooksFolder


def show(found: tuple[HooksFolder, list[Row]], *, as_json: bool) -> None:
    """One line per hook, and one on stderr where the folder is not the repository's own."""
    folder, rows = found
    if as_json:
        print_json(_json(folder, rows))
        return
    for row in rows:
        text = row.did or _words(row)
        print(f"{row.hook:<11} {one_line(text)}")
    if folder.note is not None:
        say(f"skillgit: {one_line(folder.note)}")


def _words(row: Row) -> str:
    words = {
        "installed": f"installed at {row.path}",
        "changed": f"installed at {row.path}, changed by somebody since",
        "switched-off": f"at {row.path}, but not executable, so git does not run it",
        "missing": "not installed",
    }[row.state]
    before = f"; {row.earlier.name} runs first" if row.earlier is not None else ""
    return words + before + ("; pre-commit runs it" if row.behind_pre_commit and row.state != "missing" else "")


def _json(folder: HooksFolder, rows: list[Row]) -> dict[str, object]:
    return {
        "folder": str(folder.path),
        "hooks_path": folder.scope,
        "hooks": [
            {
                "hook": row.hook,
                "state": row.state,
                "path": str(row.path),
                "did": row.did,
                "earlier": None if row.earlier is None else str(row.earlier),
                "behind_pre_commit": row.behind_pre_commit,
            }
            for row in rows
        ],
    }
