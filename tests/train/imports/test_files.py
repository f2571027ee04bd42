"""Folders of others are read within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillgit.train.imports import files
from skillgit.train.imports.files import Folder


def test_a_text_has_the_line_ends_that_a_trainer_in_text_mode_sees(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes("# Ä\r\nb\n".encode())
    assert Folder(tmp_path).text("a.md") == "# Ä\nb\n"


def test_what_is_missing_is_not_damaged(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    (tmp_path / "folder.md").mkdir()
    assert (folder.text("a.md"), folder.text("folder.md")) == (None, None)
    assert (folder.mapping("a.json"), folder.objects("a.jsonl"), folder.time("a")) == ({}, [], None)
    assert list(folder.entries("nowhere")) == []
    assert folder.damaged == {}


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"\xff\xfe", "not UTF-8"), (b'{"a": 1', "no whole JSON"), (b"[" * 200_000, "no whole JSON")],
    ids=["binary", "cut off", "deep"],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "a").write_bytes(content)
    folder = Folder(tmp_path)
    assert (folder.text("a") if why == "not UTF-8" else folder.mapping("a") or None) is None
    assert folder.damaged == {"a": why}


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "secret").write_text("mine")
    (tmp_path / "run/a.md").symlink_to(tmp_path / "secret")
    (tmp_path / "run/b.md").write_text("fine")
    (tmp_path / "run/c.md").symlink_to("b.md")
    folder = Folder(tmp_path / "run")
    assert (folder.text("a.md"), folder.text("c.md")) == (None, "fine")
    assert folder.damaged == {"a.md": "a link that leads out of the folder"}


def test_a_file_without_end_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_TEXT", 2**20)
    (tmp_path / "a.md").write_bytes(b"x" * (2**20 + 1))
    folder = Folder(tmp_path)
    assert folder.text("a.md") is None
    assert folder.damaged == {"a.md": "larger than 1 MiB"}


def test_a_list_is_read_from_either_form_and_only_its_objects(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"a": 1}, 2, {"b": [3]}]')
    (tmp_path / "b.jsonl").write_text('{"a": 1}\n\n2\n{"b": [3]}\n{"cut')
    folder = Folder(tmp_path)
    assert folder.objects("a.json") == folder.objects("b.jsonl") == [{"a": 1}, {"b": [3]}]
    assert folder.damaged == {"b.jsonl": "no whole JSON"}


def test_half_a_character_does_not_come_in(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"\\ud800": ["\\udfff"]}')
    assert Folder(tmp_path).mapping("a.json") == {"?": ["?"]}
