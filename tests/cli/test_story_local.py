"""From `init` to `merge` with the real embedded model as target and optimizer; the history is read by plain git."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import cli, repos
from support.local_weights import SPEC, use_real_weights

from skillgit.envs.builtin import builtin_root

SIZES = {"train": 8, "val": 8, "test": 4}
BRANCH = "skill/opscli"
DOCUMENT = "skills/opscli/SKILL.md"


def _environment(root: Path) -> None:
    """The first tasks of each split of the built-in environment: enough to learn from, few enough for a test."""
    source, folder = builtin_root() / "opscli", root / "envs" / "opscli"
    folder.mkdir(parents=True)
    (folder / "env.yaml").write_text((source / "env.yaml").read_text())
    for split, size in SIZES.items():
        lines = (source / f"{split}.jsonl").read_text().splitlines(keepends=True)[:size]
        (folder / f"{split}.jsonl").write_text("".join(lines))


def _trailer(root: Path, key: str, rev: str = BRANCH) -> list[str]:
    """A trailer's values along the branch, newest first."""
    form = f"--format=%(trailers:key={key},valueonly,separator=%x2C)"
    return [line for line in repos.git(root, "log", form, rev, "--not", "main").splitlines() if line]


@pytest.mark.local_model
def test_init_to_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.plain_environment(monkeypatch, tmp_path)
    use_real_weights(monkeypatch)
    root = repos.make_repo(tmp_path / "repo")
    _environment(root)
    seed = (builtin_root() / "opscli" / "SKILL.md").read_text()
    (root / DOCUMENT).parent.mkdir(parents=True)
    (root / DOCUMENT).write_text(seed)
    done = cli.start(root, "init", "--skill", "opscli")
    assert done.code == 0, done.err
    assert SPEC in (root / "skillgit.yaml").read_text()
    repos.git(root, "add", "-A")
    repos.git(root, "commit", "-q", "-m", "Add the skill")
    base = repos.git(root, "rev-parse", "main").strip()

    settings = ("--set", "train.num_epochs=1", "--set", "train.batch_size=4", "--yes")
    done = cli.start(root, "train", "opscli", *settings, timeout=900)
    assert done.code == 0, done.err
    assert "step 2" in done.err

    # The history, by git alone.
    scores = [float(score) for score in _trailer(root, "Skill-Score")]
    assert scores, done.err
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0
    assert set(_trailer(root, "Skill-Target")) == {SPEC}
    blob = repos.git(root, "rev-parse", f"{BRANCH}:{DOCUMENT}").strip()
    assert _trailer(root, "Skill-Blob")[0] == blob
    message = repos.git(root, "log", "-1", "--format=%B", BRANCH)
    parsed = repos.git(root, "interpret-trailers", "--no-divider", "--parse", input=message).splitlines()
    assert f"Skill-Blob: {blob}" in parsed
    assert repos.git(root, "merge-base", "main", BRANCH).strip() == base
    tags = repos.git(root, "for-each-ref", "--format=%(objecttype) %(refname)", "refs/tags/skill/opscli/").split()
    assert tags[0] == "tag"
    assert tags[1].endswith("/epoch-01")

    done = cli.start(root, "merge", "opscli", "--into", "main")
    assert done.code == 0, done.err
    assert repos.git(root, "status", "--porcelain") == ""
    document = (root / DOCUMENT).read_bytes()
    assert document == (root / "skills" / "opscli" / "best_skill.md").read_bytes()
    assert b" -> ops " in document
    assert repos.git(root, "rev-list", "--parents", "-1", "main").split()[1] == base
    repos.fsck(root)
