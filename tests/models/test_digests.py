"""Digests are remembered only as long as nobody wrote to the file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from skillgit.models.digests import remember, remembered, sha256_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    return path


def test_sha256_of(file: Path) -> None:
    assert sha256_of(file) == hashlib.sha256(b"content").hexdigest()


def test_remembered_until_written(file: Path, tmp_path: Path) -> None:
    stamp = tmp_path / "deep" / "stamp"
    assert remembered(file, stamp) is None
    remember(file, stamp, "abc")
    assert remembered(file, stamp) == "abc"
    assert [path.name for path in stamp.parent.iterdir()] == ["stamp"]
    file.write_bytes(b"other and longer")
    assert remembered(file, stamp) is None


def test_a_file_that_went_away(file: Path, tmp_path: Path) -> None:
    remember(file, tmp_path / "stamp", "abc")
    file.unlink()
    assert remembered(file, tmp_path / "stamp") is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"size": 7}', "\x00", '{"sha256": "abc"}'])
def test_a_stamp_that_is_none(file: Path, tmp_path: Path, text: str) -> None:
    stamp = tmp_path / "stamp"
    stamp.write_text(text)
    assert remembered(file, stamp) is None


def test_a_stamp_of_bytes_that_are_no_text(file: Path, tmp_path: Path) -> None:
    (tmp_path / "stamp").write_bytes(b"\xff\xfe")
    assert remembered(file, tmp_path / "stamp") is None
