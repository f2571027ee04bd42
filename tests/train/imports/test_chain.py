"""Which document stood when, and what the gate said of it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import pytest
from support.skillopt import Run, at

from skillgit.errors import RefusedError
from skillgit.train.imports.chain import chain
from skillgit.train.imports.dressing import Dresser
from skillgit.train.imports.skillopt import read
from skillgit.train.imports.values import Entry, ImportedRun

HEAD = "---\nname: x\ndescription: y\n---\n\n"
SECRET = "password: hunter2-hunter2"


@pytest.fixture
def folder(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


def imported(folder: Run) -> ImportedRun:
    return chain(read(folder.root), Dresser(f"{HEAD}# X\n"))


def told(run: ImportedRun) -> list[tuple[str, int, str]]:
    return [(entry.kind, entry.step, entry.decision) for entry in run.entries]


def entry(run: ImportedRun, step: int, kind: str = "step") -> Entry:
    (found,) = (e for e in run.entries if e.step == step and e.kind == kind)
    return found


def test_a_whole_run(folder: Run) -> None:
    run = imported(folder)
    assert told(run) == [
        ("step", 1, "accept-best"),
        ("step", 2, "accept-best"),
        ("import", 2, "import"),
        ("step", 3, "reject"),
        ("step", 4, "reject"),
        ("slow-update", 4, "forced"),
        ("step", 5, "reject"),
        ("step", 6, "accept-best"),
        ("slow-update", 6, "none"),
    ]
    assert [e.closes for e in run.entries] == [False, False, True, False, False, True, False, False, True]
    assert [e.step for e in run.entries if e.best] == [1, 2, 6]
    assert run.best is entry(run, 6)
    assert (run.steps, run.total_steps, run.left_out, run.notes) == (6, 6, (), ())
    assert run.baseline is not None
    assert (run.baseline.score, run.gate, str(run.metric)) == (0, "strict hard", "hard")
    assert run.models == {"target": "openai_chat/sim-target", "optimizer": "openai_chat/sim-optimizer"}


def test_scores_documents_and_dates_are_the_folder_s(folder: Run) -> None:
    run = imported(folder)
    second, fifth = entry(run, 2), entry(run, 5)
    assert second.scored is not None
    assert (second.scored.score, second.scored.hard, second.scored.soft) == (F(1, 2), F(1, 2), F(5, 8))
    assert (second.before, second.when, second.learning_rate) == (F(1, 4), at(2), 4)
    assert second.text == HEAD + folder.candidate(2)
    assert [o.edit.content for o in second.outcomes] == [
        "- birch pump: Q785",
        "- heron meter: W204",
        "- fjord meter: W968",
        "- dune engine: V784",
    ]
    assert second.outcomes[-1].document == second.text
    assert second.reason == "+0.2500 on val, better than the document before it, and than the best one"
    assert (fifth.before, fifth.reason) == (F(1, 2), "-0.0833 on val, not better than the document before it")
    # 5241 + 357, 718 + 187, 370 + 21 and 4869 + 210 tokens
    assert (entry(run, 1).cost["calls"], entry(run, 1).cost["tokens"]) == (32, 11973)
    assert len(entry(run, 1).batch) == 16
    assert (entry(run, 4, "slow-update").when, entry(run, 2, "import").when) == (at(4, slow=True), at(2, slow=True))


def test_tasks_flip_against_the_document_before(folder: Run) -> None:
    run = imported(folder)
    rows = {
        n: {row["id"]: row["hard"] for line in folder.text(f"{Run.step(n)}/selection_eval/results.jsonl").splitlines()
            if (row := json.loads(line))}
        for n in (1, 2)
    }  # fmt: skip
    assert entry(run, 2).gained == sorted(t for t in rows[1] if rows[2][t] > rows[1][t])
    assert len(entry(run, 2).gained) == 3
    assert entry(run, 2).lost == []
    # what a slow update brought was not measured, so nothing is known to have flipped behind it
    assert (entry(run, 5).gained, entry(run, 5).lost) == ([], [])


def test_the_digest_is_of_what_is_imported_alone(folder: Run, tmp_path: Path) -> None:
    first = imported(folder)
    shutil.copytree(folder.root, tmp_path / "elsewhere")
    (tmp_path / "elsewhere/test_eval").mkdir()
    again = chain(read(tmp_path / "elsewhere"), Dresser("# Another base\n"))
    assert again.digest == first.digest
    assert again.name == "elsewhere"
    folder.record(3, selection_soft=0.25)
    assert imported(folder).digest != first.digest


def test_a_copied_folder_keeps_the_order_of_its_steps(folder: Run) -> None:
    os.utime(folder.root / "steps/step_0003/step_record.json", (at(1).timestamp(), at(1).timestamp()))
    run = imported(folder)
    assert [e.when for e in run.entries] == sorted(e.when for e in run.entries)
    assert entry(run, 3).when == at(2, slow=True)


def test_a_step_without_edits(folder: Run) -> None:
    folder.record(3, action="skip_no_patches", selection_hard=None, selection_soft=None, candidate_hash=None)
    folder.remove("steps/step_0003/candidate_skill.md")
    found = entry(imported(folder), 3)
    assert (found.decision, found.reason, found.text) == ("none", "no usable edit was proposed", None)


def test_a_candidate_that_equals_the_incumbent_is_none(folder: Run) -> None:
    folder.rewrite(3, lambda _: folder.text(Run.skill(2)))
    found = entry(imported(folder), 3)
    assert (found.decision, found.reason) == ("none", "the candidate equals the document before it")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"selection_hard": float("nan")}, "selection_hard is unusable: a score is nan"),
        ({"selection_soft": 1.5}, "selection_soft is unusable: a score is 1.5, outside 0..1"),
        ({"candidate_gate_score": float("-inf")}, "candidate_gate_score is unusable: a score is -inf"),
        ({"selection_hard": None}, "selection_hard is no number"),
    ],
)
def test_a_score_that_cannot_be_is_not_imported(folder: Run, fields: dict[str, Any], said: str) -> None:
    folder.record(3, **fields)
    run = imported(folder)
    assert (entry(run, 3).decision, entry(run, 3).text) == ("none", None)
    assert run.notes == (f"step 3: the candidate was left out: {said}",)
    assert len(run.entries) == 9


def test_an_accepted_document_without_a_usable_score_goes_on_unmeasured(folder: Run) -> None:
    """What came behind it was made of it, so its text cannot be left out."""
    folder.record(1, selection_hard=float("nan"))
    run = imported(folder)
    assert told(run)[:3] == [("step", 1, "none"), ("import", 1, "import"), ("step", 2, "accept-best")]
    went = entry(run, 1, "import")
    assert (went.text, went.scored) == (HEAD + folder.candidate(1), None)
    assert went.reason == "SkillOpt went on with a document whose score cannot be used"
    assert (entry(run, 2).before, entry(run, 2).gained) == (0, [])
    assert [o.edit.op for o in entry(run, 2).outcomes] == ["append"] * 4


def test_a_rejected_candidate_with_a_secret_is_left_out(folder: Run) -> None:
    folder.rewrite(3, lambda text: f"{text}\n{SECRET}\n")
    run = imported(folder)
    assert entry(run, 3).reason == "the candidate was left out: it holds a secret (password)"
    assert (entry(run, 3).text, entry(run, 3).outcomes) == (None, ())


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("first", r"the first document \(skills/skill_v0000.md\)"),
        ("accepted", r"step 2 \(steps/step_0002/candidate_skill.md\)"),
        ("slow", r"the slow update of epoch 2"),
        ("ungated", r"the document behind step 2 \(skills/skill_v0002.md\)"),
    ],
)
def test_a_secret_in_the_branch_refuses_it_all(folder: Run, where: str, said: str) -> None:
    if where == "accepted":
        folder.rewrite(2, lambda text: f"{text}\n{SECRET}\n")
    name = {"first": Run.skill(0), "slow": "slow_update/epoch_02/candidate_skill.md", "ungated": Run.skill(2)}.get(
        where
    )
    if name is not None:
        folder.put(name, f"{folder.text(name)}\n{SECRET}\n")
    with pytest.raises(RefusedError, match=rf"^{said}: it holds a secret \(password\); nothing was imported; "):
        imported(folder)


def test_a_damaged_accepted_candidate_ends_the_import_before_it(folder: Run) -> None:
    """Its record has the digest of the text that was measured."""
    folder.put("steps/step_0002/candidate_skill.md", folder.candidate(2)[:-5])
    run = imported(folder)
    assert told(run) == [("step", 1, "accept-best")]
    said = "step 2 was left out (and all behind it): its candidate_skill.md is not the text that was measured"
    assert (run.left_out, run.best, run.steps, run.total_steps) == ((said,), run.entries[0], 1, 6)
    assert not run.entries[0].closes


def test_a_damaged_rejected_candidate_is_left_out_alone(folder: Run) -> None:
    folder.remove("steps/step_0004/candidate_skill.md")
    run = imported(folder)
    assert entry(run, 4).reason == "the candidate was left out: its candidate_skill.md is missing or cannot be read"
    assert len(run.entries) == 9


@pytest.mark.parametrize("step", range(7))
def test_a_run_that_was_killed_behind_any_step(folder: Run, step: int) -> None:
    folder.stop_after(step)
    run = imported(folder)
    assert (run.steps, run.total_steps, run.left_out, run.notes) == (step, 6, (), ())
    assert sum(e.closes for e in run.entries) == step // 2
    assert (run.best.step if run.best else 0) == [0, 1, 2, 2, 2, 2, 6][step]
    assert run.entries == tuple(imported(Run(folder.root.with_name("whole"))).entries[: len(run.entries)])


def test_an_epoch_whose_slow_update_is_missing_is_not_closed(folder: Run) -> None:
    folder.stop_after(4)
    folder.remove("slow_update/epoch_02")
    run = imported(folder)
    assert [(e.step, e.kind) for e in run.entries if e.closes] == [(2, "import")]


def test_a_slow_update_belongs_to_the_last_step_of_its_epoch_alone(folder: Run) -> None:
    """Where that step is damaged, the guidance was made for a document that is not there."""
    folder.put("steps/step_0004/step_record.json", "{")
    folder.put("history.json", "[")
    run = imported(folder)
    assert told(run)[-1] == ("step", 3, "reject")


def test_a_slow_update_at_the_gate(folder: Run) -> None:
    name = "slow_update/epoch_02/slow_result.json"
    folder.change(name, action="reject", selection_hard=0.25, selection_soft=0.5)
    folder.put(Run.skill(4), folder.text(Run.skill(3)))
    found = entry(imported(folder), 4, "slow-update")
    assert (found.decision, found.candidate, found.before) == ("reject", 2, F(1, 2))
    assert (found.outcomes[0].edit.op, found.outcomes[0].support) == ("guidance", 20)
    folder.change(name, action="accept_new_best", selection_hard=0.625, selection_soft=0.75)
    run = imported(folder)
    found = entry(run, 4, "slow-update")
    assert found.scored is not None
    assert (found.decision, found.scored.score, entry(run, 5).before) == ("accept-best", F(5, 8), F(5, 8))


def test_without_a_gate_the_best_is_the_highest(folder: Run) -> None:
    folder.put("config.json", {**folder.json("config.json"), "use_gate": False})
    for step in (1, 2, 6):
        folder.record(step, action="force_accept")
    folder.record(6, selection_hard=0.25, candidate_gate_score=0.25)
    folder.put("best_skill.md", folder.candidate(2))
    run = imported(folder)
    assert (run.gate, [e.decision for e in run.entries if e.kind == "step" and e.accepted]) == (
        "none hard",
        ["forced"] * 3,
    )
    assert run.best is entry(run, 2)
    assert entry(run, 6).reason == "-0.2500 on val, accepted without a gate"


def test_notes_in_the_appendix_are_a_document_behind_the_gate(folder: Run) -> None:
    text = folder.text(Run.skill(3)) + "\n<!-- APPENDIX_START -->\n- Mind the code.\n<!-- APPENDIX_END -->\n"
    folder.put(Run.skill(3), text)
    folder.record(3, skill_len=len(text))
    found = entry(imported(folder), 3, "import")
    assert (found.text, found.scored) == (HEAD + text, None)
    assert found.reason == "SkillOpt changed the document behind the gate, and did not measure it"


def test_a_damaged_document_behind_a_step_is_not_taken(folder: Run) -> None:
    folder.put(Run.skill(3), folder.text(Run.skill(3))[:100])
    assert told(imported(folder)) == told(imported(Run(folder.root.with_name("whole"))))


def test_the_last_document_can_become_the_best_at_the_end(folder: Run) -> None:
    """SkillOpt measures it when all steps are done."""
    slow = folder.candidate(6).replace("Read the whole ticket", "Read all of the ticket")
    folder.put("slow_update/epoch_03/candidate_skill.md", slow)
    folder.put(Run.skill(6), slow)
    folder.put("best_skill.md", slow)
    folder.change("summary.json", final_selection_hard=0.875, final_selection_soft=0.9)
    run = imported(folder)
    found = entry(run, 6, "slow-update")
    assert run.best is found
    assert found.scored is not None
    assert (found.scored.score, found.scored.soft, found.decision) == (F(7, 8), F(9, 10), "forced")
    assert found.reason == "accepted without a gate, and not measured; the best at the end of the run"


def test_a_best_skill_that_no_step_knows_is_said(folder: Run) -> None:
    folder.put("best_skill.md", "# By hand\n")
    run = imported(folder)
    assert run.notes == ("best_skill.md is not the document that the steps name as the best: theirs was taken",)
    assert run.best is entry(run, 6)


def test_a_first_document_that_is_empty(folder: Run) -> None:
    folder.put(Run.skill(0), "")
    run = imported(folder)
    assert (run.initial, run.baseline) == (None, None)
    assert run.notes == ("SkillOpt began with an empty document: the branch begins with the base's",)
    assert [o.edit.op for o in entry(run, 1).outcomes] == ["rewrite"]


def test_hidden_text_and_another_frontmatter_are_said_once(folder: Run) -> None:
    folder.rewrite(2, lambda text: f"---\nname: z\n---\n{text}\n<!-- psst -->\u200b\n")
    run = imported(folder)
    assert run.notes == (
        "step 2 holds U+200B ZERO WIDTH SPACE, an invisible character",
        "step 2 holds an HTML comment, which readers do not see",
        "step 2 has a frontmatter of its own, other than the base's: kept",
    )
    assert entry(run, 2).text == folder.candidate(2)


def test_edits_in_between_that_cannot_stand_alone_are_one(folder: Run) -> None:
    """The first of two edits would leave a frontmatter that never closes."""
    patch = {"edits": [{"op": "replace", "target": "# Codes", "content": "---\nname: z\n# Codes"},
                       {"op": "replace", "target": "\n# Codes", "content": "\n---\n# Codes"}]}  # fmt: skip
    folder.put("steps/step_0001/ranked_edits.json", patch)
    folder.rewrite(1, lambda _: folder.text(Run.skill(0)).replace("# Codes", "---\nname: z\n---\n# Codes", 1))
    found = entry(imported(folder), 1)
    assert [(o.edit.op, o.document) for o in found.outcomes] == [("rewrite", folder.candidate(1))]


@pytest.mark.parametrize("source", ["rows", "summary", "first step", "nowhere"])
def test_where_the_first_score_comes_from(folder: Run, source: str) -> None:
    """The summary knows the hard score alone, so without rows the first document has no scores of its own."""
    if source != "rows":
        folder.remove("selection_eval_baseline")
    if source in ("first step", "nowhere"):
        folder.change("summary.json", baseline_selection_hard=None)
    if source == "first step":
        folder.record(1, action="reject", current_score=0.125)
    run = imported(folder)
    assert (run.baseline is not None) == (source == "rows")
    assert entry(run, 1).before == {"rows": 0, "summary": 0, "first step": F(1, 8)}.get(source)


def test_rows_that_do_not_make_up_the_score_are_not_taken(folder: Run) -> None:
    rows = folder.text("steps/step_0001/selection_eval/results.jsonl").splitlines()
    folder.put("steps/step_0001/selection_eval/results.jsonl", "\n".join(rows[:5]))
    found = entry(imported(folder), 1)
    assert found.scored is not None
    assert (found.scored.score, found.scored.tasks) == (F(1, 4), None)


def test_a_document_that_was_measured_before_has_the_scores_of_then(folder: Run) -> None:
    """SkillOpt keeps scores by the text's digest, and does not roll it out again."""
    folder.rewrite(4, lambda _: folder.candidate(3))
    folder.remove("steps/step_0004/selection_eval")
    run = imported(folder)
    first, second = entry(run, 3).scored, entry(run, 4).scored
    assert first is not None
    assert second is not None
    assert second.tasks == first.tasks
    assert (
        hashlib.sha256(folder.candidate(4).encode())
        .hexdigest()
        .startswith(folder.json("steps/step_0004/step_record.json")["candidate_hash"])
    )
