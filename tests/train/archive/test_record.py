"""What a step writes: objects first, then one transaction that moves all of its refs or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support import repos, training
from support.training import BRANCH, DOCUMENT, Yard

from skillgit.errors import RefusedError
from skillgit.store.repository import Repository
from skillgit.train.archive.layout import read_journal
from skillgit.train.archive.record import Moves

MakeYard = Callable[..., Yard]
CONFIG = training.configuration(train="{num_epochs: 2, batch_size: 8}")

RECORDING = """#!/bin/sh
cat > "$PWD/seen.$$.$1"
[ "$1" = prepared ] && cat "$PWD/seen.$$.$1" >> "$TRANSACTIONS" && echo >> "$TRANSACTIONS"
rm "$PWD/seen.$$.$1"
exit 0
"""
REFUSING = """#!/bin/sh
grep -q refs/skillgit/rejected && echo "no rejected refs here" >&2 && exit 1
exit 0
"""


def hook(root: Path, text: str) -> None:
    path = root / ".git/hooks/reference-transaction"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def here(yard: MakeYard) -> Yard:
    return yard(training.mixed(), config=CONFIG)


async def test_one_transaction_per_step(here: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the journal at its head, as the record that a crash is rolled forward from."""
    seen = tmp_path / "transactions"
    monkeypatch.setenv("TRANSACTIONS", str(seen))
    hook(here.root, RECORDING)
    await here.train()
    transactions = [block.splitlines() for block in seen.read_text().strip().split("\n\n")]
    assert len(transactions) == len(here.steps) == 5
    for step, lines in zip(here.steps, transactions, strict=True):
        moves = [line.split() for line in lines]
        assert moves[0][2].startswith("refs/skillgit/runs/topics/")
        zero = "0" * 40
        assert [[ref, None if old == zero else old, new] for old, new, ref in moves[1:]] == step.refs
        names = {ref.split("/")[1] + "/" + ref.split("/")[2] for _, _, ref in moves}
        expected = {"skillgit/runs", "skillgit/evidence"}
        if step.decision in ("accept-best", "baseline"):
            expected |= {"heads/skill", "skillgit/best"}
        if step.decision == "reject":
            expected |= {"skillgit/rejected"}
        if step.step in (2, 4):
            expected |= {"tags/skill"}
        assert names == expected


async def test_the_reflogs_say_what_moved(here: Yard) -> None:
    await here.train()
    said = here.git("reflog", "show", "--format=%gs", BRANCH).splitlines()
    assert all(line.startswith("skillgit: step ") for line in said)


async def test_journal_parents_keep_every_candidate(here: Yard) -> None:
    """Also when all refs but the journal are gone, and git has pruned what nobody reaches."""
    await here.train()
    commits = {commit for step in here.steps for commit in step.commits}
    (journal_ref,) = here.refs("refs/skillgit/runs/")
    for ref in here.refs():
        if ref not in (journal_ref, "refs/heads/main"):
            here.git("update-ref", "-d", ref)
    here.git("reflog", "expire", "--expire=now", "--all")
    here.git("gc", "-q", "--prune=now")
    assert commits <= set(here.git("rev-list", journal_ref).splitlines())
    repos.fsck(here.root)
    firsts = here.git("log", "--first-parent", "--format=%s", journal_ref).splitlines()
    assert firsts[: len(here.steps)] == [
        f"skillgit journal: topics step {step.step} {step.decision}" for step in here.steps[::-1]
    ]


async def test_the_journals_tree(here: Yard) -> None:
    await here.train()
    (ref,) = here.refs("refs/skillgit/runs/")
    names = here.git("ls-tree", "-r", "--name-only", ref).splitlines()
    assert names == ["run.json", "scores.json", "state.json", "step.json"]
    step = json.loads(here.git("show", f"{ref}:step.json"))
    assert step["models"] == {"target": "openai/sim", "optimizer": "anthropic/sim"}
    # Nothing of a task's text, of a reply or of the optimizer's reasoning.
    shown = here.git("log", "-p", "--first-parent", f"main..{ref}").splitlines()
    everything = "\n".join(line for line in shown if line.startswith("+"))
    assert '"batch"' in everything
    assert "Ticket:" not in everything
    assert "Each topic has" not in everything
    assert "<answer>" not in everything


async def test_the_evidence(here: Yard) -> None:
    await here.train()
    (ref,) = here.refs("refs/skillgit/evidence/")
    subjects = here.git("log", "--format=%s", ref).splitlines()
    assert subjects == [f"skillgit evidence: topics step {step.step}" for step in here.steps[::-1]]
    for step, commit in zip(here.steps, here.git("rev-list", "--reverse", ref).splitlines(), strict=True):
        files = here.git("ls-tree", "--name-only", commit).splitlines()
        if step.kind == "baseline":
            assert files == ["val.jsonl"]
            continue
        rows = [json.loads(line) for line in here.git("show", f"{commit}:rollouts.jsonl").splitlines()]
        assert {row["task"] for row in rows} == set(step.batch)
        assert {row["document"] for row in rows} == {step.document_before}
        assert all(row["transcript"] for row in rows)
        if "val.jsonl" in files:
            rows = [json.loads(line) for line in here.git("show", f"{commit}:val.jsonl").splitlines()]
            # No more than the record stands on: what was measured beyond is in the cache only.
            assert {row["task"] for row in rows} == set(step.scores)


async def test_a_hook_that_refuses_one_ref_stops_all(here: Yard) -> None:
    hook(here.root, REFUSING)
    with pytest.raises(RefusedError, match="no rejected refs here") as caught:
        await here.train()
    assert caught.value.exit_code == 2
    done = [step.decision for step in here.steps]
    assert "reject" not in done
    assert here.refs("refs/skillgit/rejected/") == {}
    assert training.journal(here.root).state.tip == here.refs(BRANCH)[BRANCH]
    # Nothing is lost: without the hook it goes on from the cache.
    asked = here.server.count
    hook(here.root, "#!/bin/sh\nexit 0\n")
    await here.train()
    assert here.steps[len(done)].decision == "reject"
    assert here.steps[len(done)].cost["calls"] == 0
    assert here.server.count > asked


async def test_a_journal_is_read_back(here: Yard) -> None:
    await here.train()
    (oid,) = here.refs("refs/skillgit/runs/").values()
    journal = read_journal(Repository.open(here.root), oid)
    assert journal.commit == oid
    assert journal.record == here.steps[-1]
    assert set(journal.scores) == {journal.state.incumbent, journal.state.best}
    assert journal.state.incumbent == here.git("rev-parse", f"{BRANCH}:{DOCUMENT}")
    with pytest.raises(RefusedError, match="journal"):
        read_journal(Repository.open(here.root), here.git("rev-parse", "main"))


def test_a_move_that_changes_nothing_is_left_out() -> None:
    moves = Moves()
    moves.add("refs/heads/a", "1" * 40, "1" * 40)
    moves.add("refs/heads/b", None, "1" * 40)
    assert [update.ref for update in moves.updates] == ["refs/heads/b"]
