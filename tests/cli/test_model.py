"""`skillgit model`: what it prints, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.hub import Hub, serve_hub, tiny

from skillgit.cli.main import dispatch
from skillgit.models.weights_table import KNOWN

CONTENT = b"weights" * 1000
KEYS = ["name", "path", "ready", "size", "sha256", "licence", "repository"]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    with serve_hub(CONTENT) as served:
        monkeypatch.setitem(KNOWN, "tiny", tiny(CONTENT))
        monkeypatch.setenv("SKILLGIT_CACHE_DIR", str(tmp_path))
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        yield served


def test_pull_verify_path_list(hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "models" / "tiny.gguf"
    assert dispatch(["model", "path", "tiny"]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    assert dispatch(["model", "pull", "--yes", "local/tiny"]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{path}\n"
    assert "from Org/Tiny-GGUF" in captured.err
    assert path.read_bytes() == CONTENT
    assert dispatch(["model", "verify", "tiny"]) == 0
    assert "as it should be" in capsys.readouterr().out
    assert dispatch(["model", "list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert "ready" in next(line for line in listed if line.startswith("local/tiny "))
    assert "not fetched" in next(line for line in listed if line.startswith("local/qwen2.5-coder-0.5b "))


@pytest.mark.parametrize("verb", ["pull", "verify", "path"])
def test_json_is_the_same_everywhere(hub: Hub, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    dispatch(["model", "pull", "tiny", "--yes"])
    capsys.readouterr()
    assert dispatch(["model", verb, "tiny", "--json"]) == 0
    fact = json.loads(capsys.readouterr().out)
    assert list(fact) == KEYS
    assert (fact["ready"], fact["size"]) == (True, len(CONTENT))
    assert dispatch(["model", "list", "--json"]) == 0
    assert fact in json.loads(capsys.readouterr().out)


def test_the_default_is_the_embedded_model(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["model", "path"]) == 0
    assert capsys.readouterr().out.endswith("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["verify", "tiny"], 3, "does not exist; run `skillgit model pull tiny`"),
        (["pull", "tinny"], 2, "did you mean 'tiny'?"),
        (["pull", "--yes", "tiny"], 3, "no source gave"),
    ],
)
def test_failures_are_one_line(
    hub: Hub, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    hub.status = 404
    assert dispatch(["model", *arguments]) == code
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("skillgit: error: ")
    assert said in last
