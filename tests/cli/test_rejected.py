"""`skillgit rejected` and `log` where a step has several candidates, and an epoch ends with a slow update."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support import cli, repos, training
from support.epochs import EpochWorld
from support.server import Answer, Call, serve
from support.training import BRANCH, SKILL
from support.world import Kinds

CONFIG = training.configuration(
    models="{target: openai/gpt-4o-mini, optimizer: openai/gpt-4o-mini}",
    train="{num_epochs: 2, batch_size: 4}",
    optimizer="{use_slow_update: true, use_meta_skill: true, proposals: 2}",
)
FORCED = ("--set", "evaluation.slow_update_gate_with_selection=false")


class UselessGuidance(EpochWorld):
    def __call__(self, call: Call) -> Answer:
        if self.stage(call) == "slow_update":
            return Answer(json.dumps({"reasoning": "It got worse.", "guidance": "Be polite to machines."}))
        return super().__call__(call)


@dataclass
class Trained:
    root: Path

    def call(self, *arguments: str) -> cli.Done:
        return cli.call(self.root, *arguments)

    def json(self, *arguments: str) -> Any:
        return json.loads(self.call(*arguments, "--json").out)

    @property
    def kept(self) -> dict[tuple[str, int, int], str]:
        """(run, step, candidate) of every rejected ref, and its commit."""
        prefix = f"refs/skillgit/rejected/{SKILL}/"
        found = {ref.removeprefix(prefix): oid for ref, oid in repos.refs(self.root, prefix).items()}
        parts = {re.fullmatch(r"(\w+)/(\d+)-(\d+)", name): oid for name, oid in found.items()}
        return {(m[1], int(m[2]), int(m[3])): oid for m, oid in parts.items() if m}


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Path]]:
    made: dict[tuple[str, ...], Path] = {}

    def train(*options: str) -> Path:
        if options not in made:
            world = UselessGuidance(6, 1, kinds=Kinds(40, 40))
            root = training.make(tmp_path_factory.mktemp("once") / "r", world, config=CONFIG)
            with serve(world) as server, pytest.MonkeyPatch.context() as patch:
                training.point_at(patch, server.env())
                done = cli.call(root, "train", SKILL, *options)
                assert done.code == 0, done.err
            made[options] = root
        return made[options]

    return train


@pytest.fixture
def trained(once: Callable[..., Path], tmp_path: Path) -> Trained:
    return Trained(shutil.copytree(once(), tmp_path / "r", symlinks=True))


def test_each_ref_has_its_own_record(trained: Trained) -> None:
    found = trained.json("rejected", "list", SKILL)
    assert {(item["run"], item["step"], item["candidate"]): item["commit"] for item in found} == trained.kept
    for item in found:
        record = item["record"]
        assert (record["step"], record["candidate"]) == (item["step"], item["candidate"])
        assert record["commits"][-1] == item["commit"]
        assert record["decision"] == "reject"
        assert record["kind"] == ("slow-update" if item["candidate"] == 3 else "step")
        blob = repos.git(trained.root, "rev-parse", f"{item['commit']}:{training.DOCUMENT}")
        assert record["document"] == blob, "what was rejected is what stands there"
    assert {item["candidate"] for item in found} == {1, 2, 3}, "the world has all three cases"
    order = [(-item["step"], item["candidate"]) for item in found]
    assert order == sorted(order)


def test_show_takes_a_step_where_it_means_one_candidate(trained: Trained) -> None:
    steps: dict[int, list[int]] = {}
    for _, step, candidate in sorted(trained.kept):
        steps.setdefault(step, []).append(candidate)
    run = next(iter(trained.kept))[0]
    alone = next(step for step, candidates in steps.items() if len(candidates) == 1)
    several = next(step for step, candidates in steps.items() if len(candidates) == 3)
    for text in (str(alone), f"{run}/{alone}", f"{run[:20]}/{alone:05d}", f"{alone}-{steps[alone][0]:02d}"):
        shown = trained.json("rejected", "show", SKILL, text)
        assert shown["commit"] == trained.kept[run, alone, steps[alone][0]]
    done = trained.call("rejected", "show", SKILL, str(several))
    assert (done.code, done.out) == (2, "")
    which = ", ".join(f"{several}-{candidate:02d}" for candidate in (1, 2, 3))
    assert done.last == (
        f"skillgit: error: {SKILL} has more than one rejected candidate '{several}': {which}; name one of them"
    )
    for candidate in (1, 2, 3):
        shown = trained.json("rejected", "show", SKILL, f"{run}/{several}-{candidate:02d}")
        assert shown["commit"] == trained.kept[run, several, candidate]
        assert shown["diff"].count("\n+") > 1
    text = trained.call("rejected", "show", SKILL, f"{several}-3").out
    assert "\nslow-update: val " in text
    assert "+Be polite to machines." in text
    assert "guidance (applied)" in text


@pytest.mark.parametrize("step", ["77", "1-99", "x", "1-", "-1", "1-00", "nobody/1"])
def test_no_such_candidate(trained: Trained, step: str) -> None:
    done = trained.call("rejected", "show", SKILL, "--", step)
    assert (done.code, done.out) == (2, "")
    assert f"{SKILL} has no rejected candidate {step!r}" in done.last


def test_the_log_shows_slow_updates_and_other_candidates(trained: Trained) -> None:
    entries = trained.json("log", SKILL)
    slow = next(entry for entry in entries if entry["kind"] == "slow-update")
    assert (slow["decision"], slow["candidate"], slow["cost"]["calls"] > 0) == ("reject", 3, True)
    others = [other for entry in entries for other in entry["others"]]
    assert {other["decision"] for other in others} == {"reject"}
    lines = trained.call("log", SKILL).out.splitlines()
    assert len(lines) == 1 + len(entries) + len(others)
    commits = [commit[:10] for entry in entries for one in (entry, *entry["others"]) for commit in one["commits"][-1:]]
    assert len({line.index(commit) for commit in commits for line in lines if commit in line}) == 1, "columns"
    row = next(line for line in lines if "slow-update" in line)
    assert re.match(rf" +{slow['step']}  slow-update reject +\S", row)
    assert re.search(r" \d+ calls, \$0\.\d{4} ", row)
    assert slow["commits"][-1][:10] in row
    # One below the other: the step, then its other candidates by number.
    for entry in entries:
        if entry["others"]:
            at = next(n for n, line in enumerate(lines) if f" {entry['commits'][-1][:10]} " in line)
            assert re.match(rf" -0{entry['others'][0]['candidate']}  reject ", lines[at + 1])
            assert "calls" not in lines[at + 1], "the cost is the step's"


def test_a_forced_slow_update(once: Callable[..., Path], tmp_path: Path) -> None:
    forced = Trained(shutil.copytree(once(*FORCED), tmp_path / "r", symlinks=True))
    slow = next(entry for entry in forced.json("log", SKILL) if entry["kind"] == "slow-update")
    assert (slow["decision"], slow["score"] is not None) == ("forced", True)
    assert slow["commits"][-1] == repos.git(forced.root, "rev-parse", BRANCH)
    assert re.search(r"  slow-update forced +\d+\.\d% .*  forced: the gate would have ", forced.call("log", SKILL).out)
    (status,) = forced.json("status")
    accepted = [e for e in forced.json("log", SKILL) if e["decision"] in ("accept", "accept-best", "forced")]
    assert (status["accepted"], status["rejected"]) == (len(accepted), len(forced.kept))
    assert not [key for key in forced.kept if key[2] == 3], "what is on the branch is not among the rejected"


def test_the_list_in_every_order(trained: Trained) -> None:
    """How close one came is its score, or what it could still have reached, minus the incumbent's."""
    near = min(trained.kept.values())
    blob = repos.git(trained.root, "rev-parse", f"{near}:{training.DOCUMENT}")
    scores = "Skill-Score: 0.250000\nSkill-Score-Before: 0.750000"
    message = f"s\n\nSkill-Name: {SKILL}\nSkill-Decision: reject\n{scores}\nSkill-Blob: {blob}\n"
    far = repos.git(trained.root, "commit-tree", f"{near}^{{tree}}", "-p", near, "-m", message)
    repos.git(trained.root, "update-ref", f"refs/skillgit/rejected/{SKILL}/7zzzzzzzzzzzzzzzzzzzzzzzzz/00001-01", far)
    found = {order: trained.json("rejected", "list", SKILL, "--sort", order) for order in ("close", "day", "reason")}
    plain = trained.json("rejected", "list", SKILL)
    for items in found.values():
        assert sorted(item["ref"] for item in items) == sorted(item["ref"] for item in plain)
    gaps = []
    for item in found["close"]:
        record = item["record"] or {"score": 0.25, "score_max": None, "before": 0.75}
        reached = record["score"] if record["score_max"] is None else record["score_max"]
        assert item["gap"] == pytest.approx(reached - record["before"], abs=2e-6)
        gaps.append(item["gap"])
    assert gaps == sorted(gaps, reverse=True)
    assert (plain[0]["commit"], found["close"][-1]["commit"], gaps[-1]) == (far, far, -0.5)
    reasons = [item["record"]["reason"] for item in plain if item["record"]]
    assert [item["record"] and item["record"]["reason"] for item in found["reason"]] == [*sorted(reasons), None]
    assert {item["day"] for item in plain} == {repos.DATE[:10]}
    assert found["day"] == plain, "all of one day stay as they were"
    assert trained.json("rejected", "list", SKILL, "--sort", "close", "-n", "2") == found["close"][:2]
    assert trained.call("rejected", "list", SKILL, "--sort", "size").code == 2


def test_the_list_of_one_run(trained: Trained) -> None:
    run = next(iter(trained.kept))[0]
    assert trained.json("rejected", "list", SKILL, "--run", run[:20]) == trained.json("rejected", "list", SKILL)
    done = trained.call("rejected", "list", SKILL, "--run", "zz")
    assert done.last == f"skillgit: error: {SKILL} has no rejected candidates of a run zz; see `skillgit log {SKILL}`"


def test_a_persons_note(trained: Trained) -> None:
    run, step, candidate = min(trained.kept)
    name, commit = f"{run}/{step}-{candidate:02d}", trained.kept[run, step, candidate]
    before = repos.refs(trained.root)
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    done = trained.call("rejected", "note", SKILL, name, f"Too broad: \x1b[31mred {token}")
    assert (done.code, done.err) == (0, "")
    shown = r"note \d{4}-\d\d-\d\d Test Person <test@example\.com>: Too broad: \\x1b\[31mred \[redacted:\w+\]"
    assert re.fullmatch(rf"{run} step {step}-{candidate:02d}: {shown}\n", done.out)
    note = json.loads(repos.git(trained.root, "notes", "--ref=skillgit", "show", commit))
    assert (note["kind"], note["by"]) == ("note", "Test Person <test@example.com>")
    assert token not in note["text"]
    after = repos.refs(trained.root)
    assert {ref for ref in after if after[ref] != before.get(ref)} == {"refs/notes/skillgit"}
    repos.fsck(trained.root)
    second = json.loads(trained.call("rejected", "note", SKILL, name, "Again.", "--json").out)
    assert (second["commit"], second["text"]) == (commit, "Again.")
    texts = [remark["text"] for remark in trained.json("rejected", "show", SKILL, name)["notes"]]
    assert texts == [note["text"], "Again."]
    listed = trained.call("rejected", "list", SKILL).out.splitlines()
    at = next(number for number, line in enumerate(listed) if commit[:10] in line)
    assert re.fullmatch(f"    {shown}", listed[at + 1])
    assert listed[at + 2].endswith(": Again.")
    assert len([line for line in listed if line.startswith("    note ")]) == 2
    assert re.search(f"^{shown}$", trained.call("rejected", "show", SKILL, name).out, re.MULTILINE)
    assert sum(len(item["notes"]) for item in trained.json("rejected", "list", SKILL)) == 2


@pytest.mark.parametrize("text", ["", " \n", None])
def test_a_note_needs_words(trained: Trained, text: str | None) -> None:
    run, step, candidate = min(trained.kept)
    before = repos.refs(trained.root)
    done = trained.call("rejected", "note", SKILL, f"{run}/{step}-{candidate}", *([] if text is None else [text]))
    assert (done.code, done.out) == (2, "")
    assert repos.refs(trained.root) == before


def test_without_the_journal_its_trailers_speak(trained: Trained) -> None:
    plain = {item["ref"]: item for item in trained.json("rejected", "list", SKILL)}
    lines = trained.call("rejected", "list", SKILL).out.splitlines()
    for ref in repos.refs(trained.root, "refs/skillgit/runs/"):
        repos.git(trained.root, "update-ref", "-d", ref)
    for item in trained.json("rejected", "list", SKILL):
        assert item == {**plain[item["ref"]], "record": None}
    for old, new in zip(lines, trained.call("rejected", "list", SKILL).out.splitlines(), strict=True):
        numbers = re.search(r"val (\S+) -> (at most )?\S+(?=: )", old)
        assert numbers is not None
        assert new.endswith(f"{numbers[0]}: its journal is not here")
