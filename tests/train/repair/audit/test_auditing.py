"""An audit finds nothing in what training wrote, and each thing that somebody changed in it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support import cli, repos, tampering, training
from support.epochs import EpochWorld
from support.scripted import Scripted
from support.training import BEST_REF, BRANCH, DOCUMENT, SKILL, Yard, trailer
from support.world import Kinds, TopicWorld

from skillgit.errors import InterruptedRunError, UsageError
from skillgit.train.project import Project
from skillgit.train.repair.audit.auditing import audit
from skillgit.train.repair.audit.report import Report

RIVALS = training.configuration(
    train="{num_epochs: 3, batch_size: 8, parent: pareto}",
    gradient="{minibatch_size: 3, success_minibatches: 1}",
    optimizer="{use_slow_update: true, use_meta_skill: true, slow_update_samples: 10, proposals: 2}",
    models="{target: openai/sim, optimizer: openai/sim}",
)


def audited(root: Path, only: str = "", *, rescore: bool = False) -> Report:
    project = Project.open(root)
    try:
        environment = project.environment(SKILL) if rescore else None
        return asyncio.run(audit(project.repo, SKILL, DOCUMENT, "main", only=only, environment=environment))
    finally:
        project.repo.close()
        project.close()


def differing(root: Path, **more: bool) -> set[str]:
    """Which trailers and fields differ."""
    return {one.what for one in audited(root, **more).differences}


def numbers(root: Path) -> tuple[int, int, int]:
    """What git itself counts: candidates' commits, journal entries, entries' scores."""
    refs = [ref for ref in repos.refs(root) if "/rejected/" in ref or ref == BRANCH]
    commits = repos.git(root, "log", "--format=%(trailers:key=Skill-Edit)", *refs, "--not", "main").split(
        "Skill-Edit: "
    )
    journals = [ref for ref in repos.refs(root) if "/runs/" in ref]
    entries = [tampering.read(root, entry) for ref in journals for entry in tampering.entries(root, ref)]
    steps = [entry["step.json"] for entry in entries]
    scores = sum(bool(one["scores"]) for step in steps for one in (step, *step["others"]))
    return len(commits) - 1, len(entries), scores


def test_nothing_differs_after_a_training(here: Yard) -> None:
    before = here.refs()
    report = audited(here.root, rescore=True)
    assert report.differences == []
    assert dict(report.unchecked) == {}
    assert (report.commits, report.entries, report.scores) == numbers(here.root)
    rows = [
        (file, row["task"])
        for entry in here.git("log", "--format=%H", next(r for r in before if "/evidence/" in r)).split()
        for file in ("val.jsonl", "rollouts.jsonl")
        for line in repos.git(here.root, "show", f"{entry}:{file}", check=False).splitlines()
        if (row := json.loads(line))
    ]
    assert report.attempts == len(rows)
    assert report.replies == sum(file == "val.jsonl" for file, _ in rows)
    assert here.refs() == before


SETTINGS = {
    "strict, racing off": ("evaluation.racing=false",),
    "paired on soft": ("evaluation.gate_mode=paired", "evaluation.gate_metric=soft", "evaluation.z=0.5"),
    "margin, mixed, repeats": (
        *("evaluation.gate_mode=margin", "evaluation.gate_metric=mixed", "evaluation.gate_mixed_weight=0.25"),
        *("evaluation.repeats=2", "evaluation.no_regression=true", "evaluation.epsilon=0.01"),
    ),
    "no gate": ("evaluation.use_gate=false",),
    "a part of val": ("evaluation.sel_env_num=9",),
}


@pytest.mark.parametrize("chosen", SETTINGS.values(), ids=SETTINGS)
def test_nothing_differs_whatever_the_gate(tmp_path: Path, chosen: tuple[str, ...]) -> None:
    with training.trained_once(tmp_path / "repo", training.mixed(), chosen) as made:
        report = audited(made.root, rescore=True)
        assert (report.differences, dict(report.unchecked)) == ([], {})
        assert (report.commits, report.entries, report.scores) == numbers(made.root)


OTHER_EDITS = {
    "rewrites": ("optimizer.skill_update_mode=full_rewrite_minibatch",),
    "suggestions": ("optimizer.skill_update_mode=rewrite_from_suggestions", "optimizer.proposals=2"),
    "reminders and a length budget": ("optimizer.use_skill_aware_reflection=true", "optimizer.max_tokens=60"),
    "one shot": ("train.one_shot=true",),
    "proposals": ("optimizer.proposals=3",),
}


@pytest.mark.parametrize("chosen", OTHER_EDITS.values(), ids=OTHER_EDITS)
def test_nothing_differs_whatever_the_edits(tmp_path: Path, chosen: tuple[str, ...]) -> None:
    world = TopicWorld(8, 2)
    with training.trained_once(tmp_path / "repo", world, chosen, responder=Scripted(world)) as made:
        assert audited(made.root).differences == []


def test_nothing_differs_with_rivals_parents_guidance_and_a_second_run(tmp_path: Path) -> None:
    world = EpochWorld(8, 4, kinds=Kinds(40, 40))
    with training.trained_once(tmp_path / "repo", world, (), (), config=RIVALS) as made:
        steps = [step for run in training.journals(made.root) for step in run]
        assert {"slow-update", "step"} <= {step.kind for step in steps}
        assert any(step.others for step in steps)
        report = audited(made.root, rescore=True)
        assert (report.differences, len(report.runs)) == ([], 2)
        assert (report.commits, report.entries, report.scores) == numbers(made.root)


@pytest.fixture(scope="module")
def peopled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """Interrupted, with a person's commit in the middle, tasks that grew, given up, and trained on from a new base."""
    with training.trained_once(tmp_path_factory.mktemp("peopled") / "repo", training.mixed()) as made:
        for entries in (1, 1):
            with contextlib.suppress(InterruptedRunError):
                asyncio.run(made.train(entries=entries))
            made.commit_on(BRANCH, {DOCUMENT: made.text() + f"\n- Said by a person, {entries}.\n"})
        val = made.root / "envs/topics/val.jsonl"
        val.write_text(val.read_text() + json.dumps({"id": "val-900", "input": "What?", "answer": "x"}) + "\n")
        with contextlib.suppress(InterruptedRunError):
            asyncio.run(made.train(entries=1))
        repos.commit(made.root, {"other.txt": "The base moves on.\n"})
        asyncio.run(made.train(fresh=True))
        yield made


def test_nothing_differs_with_people_about(peopled: Yard) -> None:
    kinds = [step.kind for run in training.journals(peopled.root) for step in run]
    assert {"baseline", "step", "human", "remeasure", "end"} <= set(kinds)
    report = audited(peopled.root, rescore=True)
    assert report.differences == []
    assert (report.commits, report.entries, report.scores) == numbers(peopled.root)
    assert list(report.unchecked) == ["replies: val tasks or scoring changed since they were measured"]


def test_nothing_differs_after_what_people_ask_for(here: Yard) -> None:
    """Each change by hand, gated or not, measured anew, merged and trained on."""
    accepted = here.git("rev-parse", BRANCH)
    here.git("branch", "side", f"{BRANCH}~2")
    here.commit_on("side", {DOCUMENT: here.text("side") + "\n- Added at the side: Q1.\n"})
    asked = (
        (0, "attribute", SKILL, "--delete", "--full"),
        (2, "rejected", "retry", SKILL, "3"),
        (0, "revert", SKILL, "2.3", "--no-gate"),
        (2, "rejected", "retry", SKILL, "3"),
        (0, "rollback", SKILL, "--to", "main"),
        (2, "cherry-pick", SKILL, accepted),
        (0, "rejected", "prune", SKILL, "1"),
        (0, "merge", SKILL, "side", "--resolve"),
        (0, "merge", SKILL),
        (0, "train", SKILL),
    )
    for code, *words in asked:
        done = cli.call(here.root, *words)
        assert done.code == code, (words, done)
        assert audited(here.root).differences == [], words
        checked = cli.call(here.root, "doctor", "--offline")
        assert checked.code == 0, (words, checked.out)
    kinds = {step.kind for run in training.journals(here.root) for step in run}
    assert {"revert", "retry", "cherry-pick", "merge", "remeasure"} <= kinds


def test_one_run_alone(peopled: Yard) -> None:
    first, second = (ref.rpartition("/")[2] for ref in peopled.refs("refs/skillgit/runs/"))
    both = audited(peopled.root)
    parts = [audited(peopled.root, run) for run in (first, second)]
    assert [part.runs for part in parts] == [[first], [second]]
    assert sum(part.entries for part in parts) == both.entries
    assert sum(part.scores for part in parts) == both.scores
    with pytest.raises(UsageError, match="there is no run 01zz of topics here"):
        audited(peopled.root, "01zz")


def test_without_evidence_that_is_said(here: Yard) -> None:
    evidence = next(ref for ref in here.refs() if "/evidence/" in ref)
    oids = here.git("rev-list", evidence).split()
    here.git("update-ref", "-d", evidence)
    for oid in oids:
        (here.root / f".git/objects/{oid[:2]}/{oid[2:]}").unlink()
    report = audited(here.root)
    assert report.differences == []
    assert (report.attempts, dict(report.unchecked)) == (0, {"entries whose evidence is not here": 5})


def test_a_rebase_that_keeps_the_documents_is_no_difference(here: Yard) -> None:
    """Copies of the commits, with another date and a line more: the documents were measured."""
    tip = here.refs()[BRANCH]
    here.git(
        "update-ref",
        BRANCH,
        tampering.amended(here.root, tip, "Skill-Name", "Reviewed-by: A <a@x.example>\nSkill-Name"),
    )
    assert audited(here.root).differences == []


def test_the_base_branchs_merge_is_looked_at(here: Yard) -> None:
    blob, val = here.git("rev-parse", f"{BEST_REF}:{DOCUMENT}"), trailer(here.root, BRANCH, "Skill-Val")
    message = "Merge\n\nSkill-Name: topics\nSkill-Kind: merge\nSkill-Score: {}\nSkill-Blob: {}\nSkill-Val: {}"
    score = trailer(here.root, BRANCH, "Skill-Score")
    for written, differs in ((score, set()), ("0.999999", {"Skill-Score"})):
        here.commit_on("main", {DOCUMENT: here.text()}, message.format(written, blob, val))
        assert {one.what for one in audited(here.root).differences} == differs


# What somebody amends on the branch's tip: the key, and what else in the message is then another one's.
AMENDED = {
    "Skill-Score": "0.999000",
    "Skill-Score-Before": "0.000001",
    "Skill-Score-Hard": "1.000000",
    "Skill-Score-Soft": "1.000000",
    "Skill-Decision": "accept",
    "Skill-Val": "sha256:" + "0" * 64,
    "Skill-Blob": "1" * 40,
}


@pytest.mark.parametrize("key", AMENDED)
def test_an_amended_trailer(here: Yard, key: str) -> None:
    tip = here.refs()[BRANCH]
    old = f"{key}: {trailer(here.root, tip, key)}\n"
    forged = tampering.amended(here.root, tip, old, f"{key}: {AMENDED[key]}\n")
    for ref in (BRANCH, BEST_REF):
        here.git("update-ref", ref, forged)
    (one,) = audited(here.root).differences
    assert (one.where, one.what, one.written) == (forged[:12], key, AMENDED[key])
    right = here.git("rev-parse", f"{tip}:{DOCUMENT}") if key == "Skill-Blob" else old.split(": ", 1)[1].strip()
    assert one.computed == right


def test_a_score_put_on_a_step_that_no_journal_knows(here: Yard) -> None:
    blob = here.git("rev-parse", f"{BRANCH}:{DOCUMENT}")
    for number, (text, what) in enumerate(
        ((f"Skill-Score: 1.000000\nSkill-Blob: {blob}", "Skill-Score"), ("Skill-Decision: accept", "Skill-Decision"))
    ):
        message = f"Forged\n\nSkill-Name: {SKILL}\nSkill-Run: none\nSkill-Step: {90 + number}\n{text}"
        here.commit_on(BRANCH, {DOCUMENT: here.text()}, message)
        assert what in differing(here.root)


Files = dict[str, Any]


def at(number: int, change: Callable[[Files], object]) -> tampering.Change:
    """A change of one entry alone. Of the five, 1 and 3 are rejections, 2 and 4 acceptances."""
    return lambda here, files: change(files) if here == number else None


def step(**fields: Any) -> Callable[[Files], object]:
    return lambda files: files["step.json"].update(fields)


def state(**fields: Any) -> Callable[[Files], object]:
    return lambda files: files["state.json"].update(fields)


def flipped(name: str) -> Callable[[Files], object]:
    """One task's score is another."""

    def change(files: Files) -> None:
        scores = files["step.json"]["scores"] if name == "step.json" else next(iter(files["scores.json"].values()))
        task, ((hard, soft),) = next(iter(scores.items()))
        assert hard == soft
        scores[task] = [["0/1", "0/1"] if hard == "1/1" else ["1/1", "1/1"]]

    return change


def edited(**fields: Any) -> Callable[[Files], object]:
    return lambda files: files["step.json"]["edits"][0].update(fields)


def swapped(files: Files) -> None:
    """The candidate's commits in another order."""
    files["step.json"]["commits"].reverse()


def other_document(files: Files) -> None:
    files["step.json"]["document"] = files["step.json"]["document_before"]


def fewer_parents(files: Files) -> None:
    files["parents"] = []


def settings(files: Files) -> None:
    files["run.json"]["settings"]["evaluation"]["gate_mode"] = "margin"


JOURNALS: dict[str, tuple[tampering.Change, set[str]]] = {
    "an accepted decision": (at(2, step(decision="accept")), {"decision", "Skill-Decision"}),
    "a rejected decision": (at(1, step(decision="accept-best")), {"decision", "Skill-Decision", "state.tip"}),
    "a score": (at(4, step(score="1/1")), {"score", "Skill-Score"}),
    "a maximum": (at(3, step(maximum="15/16")), {"maximum", "Skill-Score-Max"}),
    "a score before": (at(4, step(before="1/16")), {"before", "Skill-Score-Before"}),
    "a hard score": (at(4, step(score_hard="0/1")), {"score_hard", "Skill-Score-Hard"}),
    "a soft score": (at(4, step(score_soft="0/1")), {"score_soft", "Skill-Score-Soft"}),
    "a prefix": (at(3, step(prefix=1)), {"prefix"}),
    "tasks that rose": (at(4, step(gained=[])), {"gained"}),
    "tasks that fell": (at(4, step(lost=["val-000"])), {"lost"}),
    "a task's score": (at(4, flipped("step.json")), {"score", "scores.json"}),
    "a task's score of a rejection": (at(1, flipped("step.json")), {"score_hard"}),
    "a kept score": (at(2, flipped("scores.json")), {"scores.json"}),
    "the baseline's score": (at(0, step(score="1/2")), {"score"}),
    "an edit's text": (at(2, edited(content="- Something else.")), {"document"}),
    "an edit's op": (at(2, edited(op="delete", target="Answer")), {"document", "Skill-Edit"}),
    "an edit's support": (at(2, edited(support=77)), {"Skill-Support"}),
    "an edit's status": (at(2, edited(status="no_change")), {"edits"}),
    "commits": (at(2, swapped), {"parent", "Skill-Edit", "document"}),
    "a document": (at(2, other_document), {"document", "Skill-Blob"}),
    "the document before": (at(2, step(document_before="1" * 40)), {"scores", "document_before"}),
    "an epoch": (at(2, step(epoch=7)), {"Skill-Epoch"}),
    "a step": (at(2, step(step=9)), {"step", "Skill-Step"}),
    "a kind": (at(2, step(kind="slow-update")), {"step", "Skill-Kind"}),
    "a cost": (at(2, step(cost={"calls": 1, "tokens": 1, "usd": "0.0001"})), {"Skill-Cost"}),
    "a model": (at(2, step(models={"target": "openai/best", "optimizer": "x/y"})), {"Skill-Target", "Skill-Optimizer"}),
    "refs": (at(2, step(refs=[["refs/heads/main", None, "1" * 40]])), {"refs"}),
    "the best score": (at(2, step(best="1/1")), {"best"}),
    "accepted": (at(2, state(accepted_count=5)), {"state.accepted_count"}),
    "rejected": (at(3, state(rejected_count=0)), {"state.rejected_count"}),
    "a best document": (at(2, state(best="1" * 40)), {"best", "state.best_commit"}),
    "a tip": (at(2, state(tip="1" * 40)), {"state.tip", "parent"}),
    "an incumbent": (at(2, state(incumbent="1" * 40)), {"state.incumbent"}),
    "val": (at(2, state(val="sha256:0")), {"state.val", "Skill-Val"}),
    "a target": (at(2, state(target={"name": "openai/best", "settings": {}})), {"state.target"}),
    "a state's step": (at(2, state(step=7)), {"state.step", "step"}),
    "parents": (at(2, fewer_parents), {"parents"}),
    "a run's settings, once": (at(2, settings), {"run.json"}),
    "a run's settings": (lambda _, files: settings(files), {"Skill-Gate"}),
    "another skill": (lambda _, files: files["run.json"].update(skill="other"), {"run", "Skill-Name"}),
}


@pytest.mark.parametrize(("change", "fields"), JOURNALS.values(), ids=JOURNALS)
def test_a_journal_that_was_written_anew(here: Yard, change: tampering.Change, fields: set[str]) -> None:
    tampering.rewrite(here.root, tampering.journal_ref(here.root, SKILL), change)
    assert fields - differing(here.root) == set()


def test_a_journal_that_was_written_anew_unchanged(here: Yard) -> None:
    tampering.rewrite(here.root, tampering.journal_ref(here.root, SKILL), lambda *_: None)
    assert audited(here.root).differences == []


@pytest.mark.parametrize("without", [0, 2, 3])
def test_an_entry_that_was_left_out(here: Yard, without: int) -> None:
    tampering.rewrite(here.root, tampering.journal_ref(here.root, SKILL), lambda *_: None, without=without)
    assert "step" in differing(here.root)


def test_a_score_that_is_consistent_but_for_the_evidence(here: Yard) -> None:
    """All of the journal and the trailers agree; the transcripts do not."""

    def better(number: int, files: Files) -> None:
        if number == 0:
            flipped("step.json")(files)
            scores = files["step.json"]["scores"]
            files["scores.json"] = {files["step.json"]["document"]: scores}
            hard = sum((Fraction(trials[0][0]) for trials in scores.values()), Fraction(0)) / len(scores)
            text = f"{hard.numerator}/{hard.denominator}"
            files["step.json"].update(score=text, score_hard=text, score_soft=text, best=text)

    ref = tampering.journal_ref(here.root, SKILL)
    first = tampering.entries(here.root, ref)[0]
    here.git("update-ref", ref, first)
    for other in (BRANCH, BEST_REF):
        here.git("update-ref", other, "main")
    for other in here.refs():
        if "/rejected/" in other or other.startswith("refs/tags/"):
            here.git("update-ref", "-d", other)
    assert audited(here.root).differences == []
    tampering.rewrite(here.root, ref, better)
    (one,) = audited(here.root).differences
    assert one.where.startswith("evidence ")
    assert (one.written, one.computed) == ("hard 1 soft 1 in the journal", "hard 0 soft 0")


def test_evidence_whose_scores_are_not_those_of_its_replies(here: Yard) -> None:
    """Everything agrees but the environment's own scorer."""
    ref = tampering.journal_ref(here.root, SKILL)
    evidence = next(ref for ref in here.refs() if "/evidence/" in ref)
    first = here.git("rev-list", evidence).split()[-1]
    rows = [json.loads(line) for line in here.git("show", f"{first}:val.jsonl").splitlines()]
    rows[0]["reply"] = f"<answer>{here.world.tasks['val'][int(rows[0]['task'][4:])]['answer']}</answer>"
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    forged = tampering.commit_of(here.root, {"val.jsonl": content}, first, [])

    def other(number: int, files: Files) -> None:
        if number == 0:
            files["step.json"]["refs"] = [[evidence, None, forged]]

    tampering.rewrite(here.root, ref, other)
    assert audited(here.root).differences == []
    (one,) = audited(here.root, rescore=True).differences
    assert one.what == f"reply to {rows[0]['task']}"
    assert (one.written, one.computed) == ("hard 0 soft 0", "hard 1 soft 1")


def test_a_candidate_that_changes_another_file(here: Yard) -> None:
    """The journal was written anew around it: only the tree shows it."""
    tip = here.refs()[BRANCH]
    here.git("update-ref", "refs/heads/scratch", tip)
    changed = here.git("rev-parse", f"{here.commit_on('scratch', {'envs/topics/val.jsonl': 'easier'})}^{{tree}}")
    forged = tampering.amended(here.root, tip, "", "", tree=changed)

    def other(number: int, files: Files) -> None:
        if number == 4:
            text = json.dumps(files).replace(tip, forged)
            files.update(json.loads(text))

    tampering.rewrite(here.root, tampering.journal_ref(here.root, SKILL), other)
    for ref in (BRANCH, BEST_REF):
        here.git("update-ref", ref, forged)
    found = [one for one in audited(here.root).differences if one.what == "tree"]
    assert [(one.where, one.written) for one in found] == [(forged[:12], "envs")]


def test_a_tag_that_says_something_else(here: Yard) -> None:
    tag = next(ref for ref in here.refs("refs/tags/skill/"))
    data = here.git("cat-file", "tag", tag)
    assert "   2  accept-best" in data
    for old, new, lines in (("accept-best", "reject     ", {"line 5"}), ("Skill-Blob: ", "Skill-Blob: 1", {"line 10"})):
        oid = here.git("hash-object", "-t", "tag", "-w", "--stdin", input=data.replace(old, new, 1) + "\n")
        here.git("update-ref", tag, oid)
        found = audited(here.root).differences
        assert {one.where for one in found} == {tag.removeprefix("refs/tags/")}
        assert {one.what for one in found} == lines
    here.git("tag", "-f", tag.removeprefix("refs/tags/"), BRANCH)
    assert "tag" in differing(here.root)


def test_a_note_that_says_another_score(peopled: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = training.copied(peopled, tmp_path / "repo", monkeypatch)
    commit = here.git("notes", "--ref=skillgit", "list").splitlines()[0].split()[1]
    note = here.git("notes", "--ref=skillgit", "show", commit)
    fact = json.loads(note.splitlines()[0])
    assert fact["kind"] == "human"
    here.git("notes", "--ref=skillgit", "add", "-f", "-m", json.dumps({**fact, "hard": "1/1"}), commit)
    (one,) = audited(here.root).differences
    assert (one.where, one.what) == (f"note on {commit[:12]}", "hard")
    assert one.written.startswith("1/1 on sha256:")
    assert one.computed.startswith(f"{fact['hard']} on sha256:")


def test_a_note_with_a_score_that_is_none(here: Yard) -> None:
    blob = here.git("rev-parse", f"{BRANCH}:{DOCUMENT}")
    fact = json.dumps({"kind": "score", "hard": "7/3", "soft": "1/2"})
    here.git("notes", "--ref=skillgit", "add", "-m", fact, blob)
    (one,) = audited(here.root).differences
    assert (one.where, one.what, one.written) == (f"note on {blob[:12]}", "hard", "7/3")


def test_without_a_journal_there_is_nothing_to_verify(here: Yard) -> None:
    here.git("update-ref", "-d", tampering.journal_ref(here.root, SKILL))
    with pytest.raises(UsageError, match="there is no journal of topics here; run `skillgit fetch`"):
        audited(here.root)


def test_a_shallow_clone_is_verified_as_far_as_it_goes(here: Yard, tmp_path: Path) -> None:
    clone = repos.make_repo(tmp_path / "shallow")
    spec = [f"{ref}:{ref}" for ref in here.refs() if ref != "refs/heads/main" and "evidence" not in ref]
    repos.git(clone, "fetch", "-q", "--depth=2", here.root.as_uri(), *spec, "main:refs/heads/base")
    repos.git(clone, "checkout", "-q", "-B", "main", "base")
    report = audited(clone)
    assert report.entries == 2
    assert [one for one in report.differences if one.what in ("step", "chain")] == []
