"""Whatever people do with plain git, no verb shows a score for a document that was not measured, and the next training
measures it before it goes on.

The court is the model server (which documents was the target asked all val tasks with?) and the world's rule.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import cli, repos, rewriting, training
from support.claims import Court, blob_at
from support.rewriting import REWRITES, Rewrite
from support.training import BRANCH, SKILL, Yard
from support.world import SEED_DOCUMENT

from skillgit.errors import InterruptedRunError

# Between what people change and the end, where rules are added, there are lines that nobody touches.
DOCUMENT = SEED_DOCUMENT + "\n" + "Words between.\n\n" * 4 + "## Codes\n\n- none so far\n"
CONFIG = training.configuration(train="{num_epochs: 2, batch_size: 8}")


@pytest.fixture(scope="module", params=["finished", "unfinished"])
def once(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """A yard whose run is over, or was interrupted before its last step."""
    root = tmp_path_factory.mktemp("once") / "repo"
    with training.trained_once(root, training.mixed(), config=CONFIG, document=DOCUMENT) as made:
        entries = None if request.param == "finished" else 3
        with contextlib.suppress(InterruptedRunError):
            asyncio.run(made.train(entries=entries))
        assert training.journal(root).state.status == ("finished" if entries is None else "running")
        candidates = [step.commits for step in made.steps if step.accepted]
        assert max(map(len, candidates)) > 1  # so that there are commits whose documents were never measured
        yield made


@pytest.fixture
def here(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return training.copied(once, tmp_path / "repo", monkeypatch)


@pytest.mark.parametrize("rewrite", REWRITES.values(), ids=REWRITES)
def test_no_verb_shows_a_score_that_was_not_measured(here: Yard, rewrite: Rewrite) -> None:
    court = Court(here.root, here.world, here.server)
    revs = rewrite(here)
    asked = here.server.count
    honest = rewrite not in (rewriting.filter_messages, rewriting.forged)
    court.judge(revs, honest=honest)
    assert court.scores > 0
    assert here.server.count == asked
    tip, known = here.git("rev-parse", BRANCH), len(journal_blobs(here))
    done = cli.call(here.root, "train", SKILL)
    assert done.code == 0, done.err
    measured_first(here, court, tip, known)
    merged = cli.call(here.root, "merge", SKILL)
    assert merged.code in (0, 2), merged
    court.judge([BRANCH, "main", *revs[:2]], honest=honest)
    scored = court.json("eval", SKILL, "--rev", revs[0], "--split", "val")
    assert scored["hard"] == court.true(str(blob_at(here.root, revs[0])))
    repos.fsck(here.root)


IN_A_CLONE = ("rebase changed", "squash", "fixup", "amend document", "amend message", "cherry pick", "filter documents")


@pytest.mark.parametrize("once", ["finished"], indirect=True)
@pytest.mark.parametrize("rewrite", [REWRITES[name] for name in IN_A_CLONE], ids=IN_A_CLONE)
def test_trailers_of_a_clone_without_journals_count_only_for_their_document(
    here: Yard, rewrite: Rewrite, tmp_path: Path
) -> None:
    """All that a plain clone has are branches and tags: what a commit says is believed of its own document."""
    root = tmp_path / "clone"
    here.git("clone", "-q", str(here.root), str(root))
    repos.identify(root)
    repos.git(root, "branch", "-q", "skill/topics", "origin/skill/topics")
    clone = Yard(root, here.world, here.server)
    assert clone.refs("refs/skillgit/") == {}
    court = Court(root, here.world, here.server)
    revs = rewrite(clone)
    court.judge([*revs, "origin/skill/topics"])
    assert court.scores > 0
    tip = clone.git("rev-parse", BRANCH)
    done = cli.call(root, "train", SKILL)
    if done.code:  # the remote's branch went another way now, which a person has to settle
        assert (done.code, "origin/skill/topics" in done.last) == (2, True), done
        clone.git("remote", "remove", "origin")
        done = cli.call(root, "train", SKILL)
    assert done.code == 0, done.err
    measured_first(clone, court, tip, 0)
    court.judge([BRANCH, *revs[:2]])
    repos.fsck(root)


def journal_blobs(here: Yard) -> list[str]:
    """The document of every entry of every run, in order."""
    return [step.document for run in training.journals(here.root) for step in run]


def measured_first(here: Yard, court: Court, tip: str, known: int) -> None:
    """The training's first new entry is about a document that was measured, and no step comes before it."""
    new = [step for run in training.journals(here.root) for step in run][known:]
    assert new
    entry = new[0]
    court.claim(entry.document, round(float(court.true(entry.document)), 6), entry)
    tips = here.git("rev-list", BRANCH).split()
    assert tip in tips or here.git("rev-parse", BRANCH) == tip  # never rewound
    if entry.kind != "step":
        assert court.measured(entry.document)
