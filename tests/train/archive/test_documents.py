"""The document in a commit, and a commit's tree with another document."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import repos

from skillgit.errors import DocumentError
from skillgit.store.repository import Repository
from skillgit.train.archive import documents

TEXT = "# Title\r\n\nsmart “quotes”, 👩‍💻, no newline at the end"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repos.make_repo(tmp_path / "r", {"skills/a/SKILL.md": TEXT, "other.txt": "x\n"})


def test_text_blob_and_mode(root: Path) -> None:
    (root / "skills/a/SKILL.md").chmod(0o755)
    repos.git(root, "commit", "-qam", "Executable")
    repo = Repository.open(root)
    head = str(repo.resolve("HEAD"))
    placed = documents.read(repo, head, "skills/a/SKILL.md")
    assert (placed.text, placed.mode) == (TEXT, 0o100755)
    assert placed.blob == repos.git(root, "rev-parse", "HEAD:skills/a/SKILL.md")
    assert documents.blob_at(repo, head, "skills/a/SKILL.md") == placed.blob
    assert documents.blob_at(repo, head, "nowhere.md") is None


def test_another_document_in_the_same_tree(root: Path) -> None:
    repo = Repository.open(root)
    head = str(repo.resolve("HEAD"))
    tree, blob = documents.replaced(repo, head, "skills/a/SKILL.md", TEXT + "!", 0o100644)
    assert repos.git(root, "diff", "--name-only", f"{head}^{{tree}}", tree) == "skills/a/SKILL.md"
    assert repos.git(root, "cat-file", "blob", blob).encode() == (TEXT + "!").encode()
    assert documents.replaced(repo, head, "skills/a/SKILL.md", TEXT, 0o100644)[0] == repos.git(
        root, "rev-parse", "HEAD^{tree}"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file"),
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (b"a\xffb", "not UTF-8"),
        (b"a\0b", "NUL"),
        (b"---\nname: [\n---\nbody\n", "frontmatter|YAML"),
    ],
)
def test_what_is_no_document(root: Path, content: bytes | None, said: str) -> None:
    repos.commit(root, {"skills/a/SKILL.md": content}, "Broken")
    repo = Repository.open(root)
    head = str(repo.resolve("HEAD"))
    with pytest.raises(DocumentError, match=said) as caught:
        documents.read(repo, head, "skills/a/SKILL.md")
    assert f"skills/a/SKILL.md at {head[:12]}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_link_or_a_folder_is_no_document(root: Path) -> None:
    (root / "link.md").symlink_to("skills/a/SKILL.md")
    repos.git(root, "add", "link.md")
    repos.git(root, "commit", "-qm", "A link")
    repo = Repository.open(root)
    for path in ("link.md", "skills/a"):
        with pytest.raises(DocumentError, match="not a plain file"):
            documents.read(repo, str(repo.resolve("HEAD")), path)
