"""Which skills a transfer is about."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import repos, sharing

from skillgit.errors import ConfigError, UsageError
from skillgit.store.repository import Repository
from skillgit.train.sharing.skills import chosen, configured

TWO = sharing.CONFIG.format(name="b") + sharing.CONFIG.format(name="a").split("skills:\n")[1]


def opened(where: Path, config: str | bytes | None) -> Repository:
    made = repos.make_repo(where, {"x": "1"} | ({"skillgit.yaml": config} if config is not None else {}))  # type: ignore[dict-item]
    return Repository.open(made)


def test_those_of_the_configuration(tmp_path: Path) -> None:
    assert configured(opened(tmp_path / "none", None)) == []
    repo = opened(tmp_path / "two", TWO)
    assert configured(repo) == ["a", "b"]
    bare = tmp_path / "bare.git"
    repos.git(tmp_path, "clone", "-q", "--bare", "two", str(bare))
    assert configured(Repository.open(bare)) == ["a", "b"]
    assert configured(Repository.open(sharing.bare(tmp_path / "empty.git"))) == []
    repos.git(tmp_path / "two", "sparse-checkout", "set", "--no-cone", "/x")
    assert not (tmp_path / "two/skillgit.yaml").exists()
    assert configured(repo) == ["a", "b"], "a sparse checkout leaves the file out"
    assert configured(opened(tmp_path / "bom", b"\xef\xbb\xbf" + TWO.encode())) == ["a", "b"]


@pytest.mark.parametrize(("config", "why"), [(b"\xff", "not UTF-8"), ("skills: [", "skillgit.yaml")])
def test_a_wrong_configuration_is_said(tmp_path: Path, config: str | bytes, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        configured(opened(tmp_path / "r", config))


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    repo = opened(tmp_path / "r", None)
    (tmp_path / "r/skillgit.yaml").mkdir()
    with pytest.raises(ConfigError, match=r"^skillgit\.yaml: Is a directory; make it readable"):
        configured(repo)


def test_what_is_asked_for_and_what_is_there(tmp_path: Path) -> None:
    repo = opened(tmp_path / "r", TWO)
    ours, theirs = {"refs/heads/skill/ours": "1"}, {"refs/skillgit/best/theirs": "2"}
    assert chosen(repo, [], ours, theirs, fetch=False) == ["a", "b"]
    assert chosen(repo, [], ours, theirs, fetch=True) == ["a", "b", "theirs"]
    assert chosen(repo, ["ours", "b", "b"], ours, theirs, fetch=False) == ["b", "ours"]
    assert chosen(repo, ["theirs"], ours, theirs, fetch=True) == ["theirs"]
    with pytest.raises(UsageError, match="there is no skill 'their', neither here nor there; did you mean 'theirs'\\?"):
        chosen(repo, ["their"], ours, theirs, fetch=True)
    with pytest.raises(UsageError, match=r"known skills: a, b, ours, theirs$"):
        chosen(repo, ["zzzzzz"], ours, theirs, fetch=True)
