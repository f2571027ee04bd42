"""Files of a folder that somebody else wrote: read within bounds, and never through a link that leads out of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

MOST_TEXT = 2 * 2**20
"""Bytes of a document: more is no skill."""
MOST_JSON = 64 * 2**20


class Folder:
    """A folder.

    Attributes:
        damaged: files that are there and cannot be used, with the reason in a few words.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.damaged: dict[str, str] = {}
        self._inside = root.resolve()

    def text(self, name: str) -> str | None:
        """A text in UTF-8, its line ends as `\\n`, as a trainer in text mode sees it; None where it is not usable."""
        data = self._read(name, MOST_TEXT)
        if data is None:
            return None
        try:
            return data.decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError:
            self.damaged[name] = "not UTF-8"
            return None

    def mapping(self, name: str) -> dict[str, Any]:
        """A JSON object; empty where it is not there or not usable."""
        value = self._json(name)
        return value if isinstance(value, dict) else {}

    def objects(self, name: str) -> list[dict[str, Any]]:
        """The objects of a JSON list, or of a file with one JSON object a line; empty where it is not usable."""
        if name.endswith(".jsonl"):
            data = self._read(name, MOST_JSON)
            values = [self._parsed(name, line) for line in (data or b"").split(b"\n") if line.strip()]
        else:
            found = self._json(name)
            values = found if isinstance(found, list) else []
        return [value for value in values if isinstance(value, dict)]

    def time(self, *names: str) -> float | None:
        """When the first of these files that is there was last written; seconds since 1970."""
        for name in names:
            try:
                return (self.root / name).stat().st_mtime
            except OSError:
                continue
        return None

    def has(self, name: str) -> bool:
        """Whether there is something of this name."""
        return (self.root / name).exists()

    def entries(self, name: str = ".") -> Iterator[str]:
        """Names in a folder of it, sorted; none where there is no such folder."""
        try:
            yield from sorted(os.listdir(self.root / name))
        except OSError:
            return

    def _json(self, name: str) -> Any:
        data = self._read(name, MOST_JSON)
        return None if data is None else self._parsed(name, data)

    def _parsed(self, name: str, data: bytes) -> Any:
        try:
            return _clean(json.loads(data))
        except (ValueError, RecursionError):
            self.damaged[name] = "no whole JSON"
            return None

    def _read(self, name: str, most: int) -> bytes | None:
        path = self.root / name
        try:
            if not path.is_file():
                return None
            if not path.resolve().is_relative_to(self._inside):
                self.damaged[name] = "a link that leads out of the folder"
                return None
            if path.stat().st_size > most:
                self.damaged[name] = f"larger than {most // 2**20} MiB"
                return None
            return path.read_bytes()
        except OSError as error:
            self.damaged[name] = error.strerror or "cannot be read"
            return None


def _clean(value: Any) -> Any:
    """Without lone surrogates, which JSON can hold and no encoding can."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, Mapping):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value
