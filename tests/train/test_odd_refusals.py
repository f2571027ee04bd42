"""What an odd repository cannot give is one clear line, and nothing moves."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import cli, odd, repos, training
from support.server import Server, serve
from support.training import BEST, BEST_REF, DOCUMENT, SEED_DOCUMENT, SKILL
from support.world import Kinds, TopicWorld

CONFIG = training.configuration(train="{num_epochs: 1, batch_size: 8}")
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12\n"
TRAIN, MERGE = ("train", SKILL), ("merge", SKILL)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(TopicWorld(4, 1, kinds=Kinds(100, 0))) as made:
        yield made


@pytest.fixture
def source(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    training.point_at(monkeypatch, server.env())
    return training.make(tmp_path / "source", TopicWorld(4, 1, kinds=Kinds(100, 0)), config=CONFIG)


def refused(root: Path, *arguments: str) -> str:
    """A command that must fail in one line; gives that line."""
    before = repos.refs(root), seen(root)
    done = cli.call(root, *arguments)
    assert (done.code, done.out) == (2, ""), done
    assert "Traceback" not in done.err
    assert (repos.refs(root), seen(root)) == before
    return done.last.removeprefix("skillgit: error: ")


def seen(root: Path) -> str:
    return repos.git(root, "status", "--porcelain", check=False)


def passed(root: Path, *arguments: str) -> None:
    done = cli.call(root, *arguments)
    assert done.code == 0, done.err
    repos.fsck(root)


class TestSparse:
    def test_an_environment_outside_of_the_cone(self, source: Path, tmp_path: Path) -> None:
        root = odd.sparse("skills")(source, tmp_path)
        line = refused(root, *TRAIN)
        said, command = line.rsplit("; run: git ", 1)
        assert said == "envs/topics/env.yaml: a sparse checkout leaves it out of the work tree"
        repos.git(root, *command.split())
        passed(root, *TRAIN)

    def test_one_file_of_an_environment_outside_of_the_patterns(self, source: Path, tmp_path: Path) -> None:
        root = odd.sparse("/*", "!/envs/topics/val.jsonl", cone=False)(source, tmp_path)
        assert refused(root, *TRAIN).startswith("envs/topics/val.jsonl: a sparse checkout leaves it out")

    def test_settings_outside_of_the_patterns(self, source: Path, tmp_path: Path) -> None:
        root = odd.sparse("/envs/**", cone=False)(source, tmp_path)
        line = refused(root, *TRAIN)
        said, command = line.rsplit("; run: git ", 1)
        assert said == "skillgit.yaml: a sparse checkout leaves it out of the work tree"
        repos.git(root, *command.split())
        passed(root, *TRAIN)

    def test_another_fault_is_not_laid_on_the_sparse_checkout(self, source: Path, tmp_path: Path) -> None:
        root = odd.sparse("envs")(source, tmp_path)
        (root / "envs/topics/env.yaml").write_text("version: 9\n")
        assert "sparse" not in refused(root, *TRAIN)


class TestLfs:
    def test_a_document_in_lfs(self, source: Path, tmp_path: Path) -> None:
        root = odd.copied(source, tmp_path)
        commit = repos.commit(root, {".gitattributes": "*.md filter=lfs -text\n", DOCUMENT: POINTER})
        expected = f"{DOCUMENT} at {commit[:12]}: a Git LFS pointer; keep the document out of LFS: edits need its text"
        assert refused(root, *TRAIN).startswith(expected)
        assert refused(root, "eval", SKILL).startswith(expected)

    def test_a_document_in_lfs_whose_content_is_here(self, source: Path, tmp_path: Path) -> None:
        """With git-lfs at work the file in the work tree is the text; git holds a pointer all the same."""
        root = odd.copied(source, tmp_path)
        for key, value in lfs(tmp_path).items():
            repos.git(root, "config", key, value)
        (root / ".gitattributes").write_text("*.md filter=lfs -text\n")
        repos.git(root, "add", "--renormalize", ".")
        repos.git(root, "commit", "-q", "-a", "-m", "Into LFS")
        assert repos.git(root, "cat-file", "blob", f"HEAD:{DOCUMENT}").startswith("version https://git-lfs")
        assert (root / DOCUMENT).read_text() == SEED_DOCUMENT
        assert "a Git LFS pointer" in refused(root, *TRAIN)

    @pytest.mark.parametrize("installed", [False, True])
    def test_a_document_that_came_before_its_pattern(self, source: Path, tmp_path: Path, installed: bool) -> None:
        """git holds its text, so it is trained; the merge writes what `git merge` would."""
        settings = lfs(tmp_path) if installed else {}
        root = odd.attributed("*.md filter=lfs diff=lfs merge=lfs -text", settings)(source, tmp_path)
        passed(root, *TRAIN)
        repos.git(root, "update-index", "-q", "--refresh", check=False)
        if seen(root):  # git-lfs finds that the file should be a pointer; then git would not merge either
            assert installed
            assert "Aborting" in said_by(root, "merge", "--no-ff", BEST_REF)
            assert refused(root, *MERGE).startswith(f"{DOCUMENT}: a local change would be overwritten")
            return
        passed(root, *MERGE)
        assert (root / DOCUMENT).read_text() == training.text_at(root, "main")
        assert seen(root) == ""

    @pytest.mark.parametrize("path", ["skillgit.yaml", "envs/topics/env.yaml", "envs/topics/val.jsonl"])
    @pytest.mark.parametrize("bare", [False, True])
    def test_settings_and_tasks_in_lfs(self, source: Path, tmp_path: Path, path: str, bare: bool) -> None:
        root = odd.copied(source, tmp_path)
        repos.commit(root, {path: POINTER})
        root = odd.cloned(root, tmp_path, "--bare", name="bare.git") if bare else root
        assert refused(root, *TRAIN) == f"{path}:1: a Git LFS pointer; run `git lfs pull`, or keep the file out of LFS"


def lfs(where: Path) -> dict[str, str]:
    """What `git lfs install` sets, with a stand-in that keeps contents in a folder."""
    store = where / "lfs-store"
    store.mkdir()
    clean = where / "clean"
    clean.write_text(
        f'#!/bin/sh\ncat > "{store}/new"\nset -- $(sha256sum "{store}/new")\nmv "{store}/new" "{store}/$1"\n'
        'printf "version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n" "$1" '
        f'"$(wc -c < "{store}/$1" | tr -d " ")"\n'
    )
    smudge = where / "smudge"
    smudge.write_text(
        f'#!/bin/sh\ncat > "{store}/asked"\noid=$(sed -n "s/^oid sha256://p" "{store}/asked")\n'
        f'if [ -n "$oid" ]; then cat "{store}/$oid"; else cat "{store}/asked"; fi\n'
    )
    for script in (clean, smudge):
        script.chmod(0o755)
    return {"filter.lfs.clean": str(clean), "filter.lfs.smudge": str(smudge), "filter.lfs.required": "true"}


def said_by(root: Path, *arguments: str) -> str:
    """What git says as it fails."""
    with pytest.raises(AssertionError) as caught:
        repos.git(root, *arguments)
    return str(caught.value)


class TestFilters:
    def test_a_filter_that_fails_takes_no_file_away(self, source: Path, tmp_path: Path) -> None:
        """git itself removes the old file first, and then cannot write the new one."""
        own = {"filter.own.smudge": "cat", "filter.own.clean": "cat", "filter.own.required": "true"}
        root = odd.attributed("*.md filter=own", own)(source, tmp_path)
        passed(root, *TRAIN)
        repos.git(root, "config", "filter.own.smudge", "false")
        before = (root / DOCUMENT).read_bytes()
        line = refused(root, *MERGE)
        assert line.startswith(f"{root}: git cannot write a file: {DOCUMENT}: smudge filter own failed; ")
        assert (root / DOCUMENT).read_bytes() == before
        assert not (root / BEST).exists()
        repos.git(root, "config", "filter.own.smudge", "cat")
        passed(root, *MERGE)
        assert seen(root) == ""

    def test_a_filter_that_loses_what_it_cleans(self, source: Path, tmp_path: Path) -> None:
        """git calls the file changed as soon as it reads it again, and merges nothing over it; nor do we."""
        own = {"filter.own.smudge": "tr a-z A-Z", "filter.own.clean": "tr A-Z a-z"}
        root = odd.attributed("*.md filter=own", own)(source, tmp_path)
        passed(root, *TRAIN)
        (root / DOCUMENT).touch()
        assert DOCUMENT in seen(root)
        assert "would be overwritten by merge" in said_by(root, "merge", "--no-ff", BEST_REF)
        assert refused(root, *MERGE) == f"{DOCUMENT}: a local change would be overwritten; commit it, or `git stash`"


class TestWhatIsElsewhere:
    @pytest.mark.parametrize("objects", ["blob:none", "tree:0"])
    def test_a_remote_that_does_not_answer(self, source: Path, tmp_path: Path, objects: str) -> None:
        root = odd.partial(objects)(source, tmp_path, checkout=False)
        for name in ("skillgit.yaml", "envs"):
            copy = shutil.copytree if (source / name).is_dir() else shutil.copy
            copy(source / name, root / name)
        url = repos.git(root, "remote", "get-url", "origin")
        repos.git(root, "remote", "set-url", "origin", (tmp_path / "nowhere").as_uri())
        line = refused(root, *TRAIN)
        assert line.startswith("object ")
        assert "nowhere' does not appear to be a git repository; let `git fetch` work" in line
        repos.git(root, "remote", "set-url", "origin", url)
        passed(root, *TRAIN)

    def test_a_document_of_a_submodule(self, source: Path, tmp_path: Path) -> None:
        inner = repos.make_repo(tmp_path / "inner", {"deep/SKILL.md": SEED_DOCUMENT})
        root = odd.copied(source, tmp_path)
        repos.git(root, *odd.FILE_PROTOCOL, "submodule", "--quiet", "add", str(inner), "skills/inner")
        config = (root / "skillgit.yaml").read_text().replace(DOCUMENT, "skills/inner/deep/SKILL.md")
        commit = repos.commit(root, {"skillgit.yaml": config})
        assert refused(root, *TRAIN) == (
            f"skills/inner/deep/SKILL.md at {commit[:12]}: it belongs to the submodule skills/inner; "
            "train it in that repository"
        )

    def test_a_work_tree_that_its_git_directory_does_not_name(self, source: Path, tmp_path: Path) -> None:
        """The base is checked out there, and a linked work tree cannot know where that is."""
        root = odd.separate(source, tmp_path)
        repos.git(root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
        passed(tmp_path / "linked", *TRAIN)
        line = refused(tmp_path / "linked", *MERGE)
        assert line.endswith("elsewhere.git, which does not say where that is; run it in that work tree")
        passed(root, *MERGE)
        assert seen(root) == ""
        assert (root / BEST).read_bytes() == (root / DOCUMENT).read_bytes()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
    def test_a_repository_of_somebody_else(self, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root = odd.foreign(source, tmp_path)
        done = cli.call(root, *TRAIN)
        assert done.code == 2
        mend = f"if you trust it, run: git config --global --add safe.directory {root}"
        assert done.last == f"skillgit: error: {root}: the repository belongs to someone else; {mend}"
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
        assert cli.call(root, *TRAIN).code == 0
        assert cli.call(root, *MERGE).code == 0
