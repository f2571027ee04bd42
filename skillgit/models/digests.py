"""sha256 of big files, remembered as long as size and modification time stay the same."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path


def sha256_of(path: Path) -> str:
    """The digest of a file's content, in hex.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remembered(path: Path, stamp: Path) -> str | None:
    """The digest in `stamp`, if `path` has not been written since; None otherwise.

    Raises:
        OSError: a file is there and cannot be read.
    """
    try:
        noted = json.loads(stamp.read_text("utf-8"))
        state = _state(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    if not isinstance(noted, dict) or {key: noted.get(key) for key in state} != state:
        return None
    digest = noted.get("sha256")
    return digest if isinstance(digest, str) else None


def remember(path: Path, stamp: Path, digest: str) -> None:
    """Write `stamp`, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    stamp.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=stamp.name, dir=stamp.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({**_state(path), "sha256": digest}, file)
        os.replace(temporary, stamp)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def _state(path: Path) -> dict[str, int]:
    status = path.stat()
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns}
