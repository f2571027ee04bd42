"""`skillgit init`: what is missing is written, in a form that loads; what exists is never changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillgit.config import parse
from skillgit.document.structure import check_document, frontmatter
from skillgit.envs.loading import load_environment
from skillgit.errors import ConfigError, UsageError
from skillgit.train import scaffold


def plan(root: Path, **more: Any) -> scaffold.Plan:
    chosen: dict[str, Any] = {"name": None, "document": None, "env": None, "into": "main", "documents": [], **more}
    return scaffold.plan(root, **chosen)


def test_from_nothing(tmp_path: Path) -> None:
    made = plan(tmp_path, name="greeting-cards")
    scaffold.write(tmp_path, made.files)
    config = parse((tmp_path / "skillgit.yaml").read_text())
    entry = config.skill("greeting-cards")
    assert (entry.document, entry.env, entry.merge.into) == (
        "skills/greeting-cards/SKILL.md",
        "envs/greeting-cards",
        "main",
    )
    assert config.model("greeting-cards", "target").model == scaffold.DEFAULT_MODEL
    text = check_document((tmp_path / entry.document).read_bytes(), entry.document)
    assert frontmatter(text)["name"] == "greeting-cards"
    assert "# Greeting cards" in text
    environment = load_environment(tmp_path / entry.env, label=entry.env)
    assert [len(environment.tasks(split)) for split in ("train", "val", "test")] == [3, 2, 2]
    assert made.notes == ()


def test_what_exists_is_left_alone(tmp_path: Path) -> None:
    files = {
        "skillgit.yaml": "version: 1\nskills:\n  other: {document: a.md, env: e}\n",
        "skills/cards/SKILL.md": "# Mine\n",
        "envs/cards/env.yaml": "version: 1\n",
    }
    scaffold.write(tmp_path, files)
    made = plan(tmp_path, name="cards")
    assert made.files == {}
    (note,) = made.notes
    assert "is not changed" in note
    assert "  cards:\n    document: skills/cards/SKILL.md\n" in note
    scaffold.write(tmp_path, dict.fromkeys(files, "overwritten"))
    assert {name: (tmp_path / name).read_text() for name in files} == files


@pytest.mark.parametrize("key", ["cards", '"cards"', "'cards'"])
def test_a_skill_that_is_configured_is_not_told_again(tmp_path: Path, key: str) -> None:
    (tmp_path / "skillgit.yaml").write_bytes(f"skills:\n  {key}: {{}}\n".encode() + b"# \xff\n")
    assert plan(tmp_path, name="cards").notes == ()
    assert plan(tmp_path, name="card").notes != ()


@pytest.mark.parametrize(
    ("given_", "name", "document"),
    [
        ({"documents": ["skills/Card Maker/SKILL.md"]}, "card-maker", "skills/Card Maker/SKILL.md"),
        ({"document": "docs/SKILL.md"}, "docs", "docs/SKILL.md"),
        ({"document": "SKILL.md"}, "skill", "SKILL.md"),
        ({"name": "b", "documents": ["a/SKILL.md", "b/SKILL.md"]}, "b", "b/SKILL.md"),
        ({"name": "b", "documents": ["x/b/SKILL.md", "y/b/SKILL.md"]}, "b", "skills/b/SKILL.md"),
        ({"name": "c", "documents": ["a/SKILL.md"]}, "c", "skills/c/SKILL.md"),
        ({"name": "c", "document": "a/SKILL.md"}, "c", "a/SKILL.md"),
    ],
)
def test_name_and_document_from_each_other(tmp_path: Path, given_: dict[str, Any], name: str, document: str) -> None:
    entry = parse(plan(tmp_path, **given_).files["skillgit.yaml"]).skill(name)
    assert entry.document == document


@pytest.mark.parametrize(
    ("documents", "said"), [([], "none"), (["a/SKILL.md", "b/SKILL.md"], r"several: a/SKILL\.md, b/SKILL\.md")]
)
def test_a_skill_that_cannot_be_guessed(tmp_path: Path, documents: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        plan(tmp_path, documents=documents)
    assert "--skill" in str(caught.value)


@pytest.mark.parametrize("name", ["Upper", "a b", "-a", "con", "a" * 65, "", "ü"])
def test_a_name_that_is_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="--skill"):
        plan(tmp_path, name=name)


@pytest.mark.parametrize("path", ["../x/SKILL.md", "/x/SKILL.md", "a/../../SKILL.md", " "])
def test_a_path_that_leaves_the_repository(tmp_path: Path, path: str) -> None:
    with pytest.raises(ConfigError, match="--document"):
        plan(tmp_path, name="a", document=path)
    with pytest.raises(ConfigError, match="--env"):
        plan(tmp_path, name="a", env=path)


def test_a_built_in_environment_brings_its_seed_document(tmp_path: Path) -> None:
    made = plan(tmp_path, name="ops", env="builtin/opscli")
    assert set(made.files) == {"skillgit.yaml", "skills/ops/SKILL.md"}
    assert check_document(made.files["skills/ops/SKILL.md"].encode(), "SKILL.md")
    with pytest.raises(ConfigError, match="builtin/opscli"):
        plan(tmp_path, name="ops", env="builtin/opscly")


names = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?", fullmatch=True)
words = st.text(st.characters(min_codepoint=32, codec="utf-8", exclude_characters="/\\")).filter(str.isprintable)
odd = st.sampled_from(["main", "1.0", "2026", "no", "true", "null", "1e3", "a/b", "#x", "it's", "a-", "&a", "ä", "%x"])


@settings(deadline=None, max_examples=50)
@given(names, words, odd)
def test_any_text_is_written_as_it_is(name: str, folder: str, into: str) -> None:
    """Names that YAML would read as numbers, paths with colons, branches like `1.0`."""
    document = f"xx{folder}/SKILL.md"
    made = plan(Path("/nowhere"), name=name, document=document, env=f"e{folder}", into=into)
    entry = parse(made.files["skillgit.yaml"]).skill(name)
    assert (entry.document, entry.env, entry.merge.into) == (document, f"e{folder}", into)
    assert frontmatter(made.files[document])["name"] == name


def test_settings_of_the_entry(tmp_path: Path) -> None:
    made = plan(tmp_path, name="a", settings={"train": "{num_epochs: 2}"}, model="openai/gpt")
    config = parse(made.files["skillgit.yaml"])
    assert config.skill("a").train.num_epochs == 2
    assert config.model("a", "optimizer").model == "openai/gpt"


def test_a_file_where_a_folder_has_to_be(tmp_path: Path) -> None:
    (tmp_path / "skills").write_text("a file\n")
    with pytest.raises(UsageError, match=r"skills/a/SKILL\.md"):
        scaffold.write(tmp_path, {"skills/a/SKILL.md": "x"})


def test_a_skill_that_is_configured_gets_what_its_entry_names(tmp_path: Path) -> None:
    """Else files would be written that nothing refers to."""
    first = scaffold.plan(
        tmp_path, name="noisy", document="docs/noisy/SKILL.md", env="tasks/noisy", into="main", documents=[]
    )
    scaffold.write(tmp_path, {"skillgit.yaml": first.files["skillgit.yaml"]})
    again = scaffold.plan(tmp_path, name="noisy", document=None, env=None, into="main", documents=[])
    assert list(again.files) == [
        "docs/noisy/SKILL.md",
        *(f"tasks/noisy/{name}" for name in ("env.yaml", "train.jsonl", "val.jsonl", "test.jsonl")),
    ]
    assert again.notes == ()
    assert "description: Tasks of the noisy skill." in again.files["tasks/noisy/env.yaml"]
