"""A name for this repository that its clones do not share: whose run an unfinished one is."""

from __future__ import annotations

import os
import re
import secrets

from skillgit.store.process import disk_failure
from skillgit.store.repository import Repository

FILE = "clone"
_FORM = re.compile(r"[0-9a-f]{16}")


def named_clone(repo: Repository) -> str:
    """This repository's name, without making one; "-" where it has none yet."""
    try:
        return (repo.common_dir / "skillgit" / FILE).read_text("ascii", "replace").strip() or "-"
    except OSError:
        return "-"


def clone_id(repo: Repository) -> str:
    """16 random hexadecimal digits, made once and kept in the common git directory; they say nothing of the machine.

    Raises:
        RefusedError: the file cannot be read or written.
    """
    path = repo.state_dir / FILE
    try:
        if path.exists() and _FORM.fullmatch(known := path.read_text("ascii", "replace").strip()):
            return known
        made = secrets.token_hex(8)
        part = path.with_name(f"{FILE}.{os.getpid()}")
        part.write_text(f"{made}\n", "ascii")
        try:
            os.link(part, path)  # whoever is first has named it
        except FileExistsError:
            named = path.read_text("ascii", "replace").strip()
            if _FORM.fullmatch(named):
                return named
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise disk_failure(error, str(path)) from None
    return made
