"""Journals that somebody with bad intentions wrote: each is an error in words, and neither audit nor doctor crashes."""

from __future__ import annotations

import asyncio
import json
from dataclasses import fields
from fractions import Fraction
from typing import Any

import pytest
from support import repos, tampering
from support.training import BEST_REF, BRANCH, DOCUMENT, SKILL, Yard

from skillgit.errors import RefusedError, RepositoryError
from skillgit.store.commits import commit_bytes
from skillgit.store.objects import Entry
from skillgit.store.repository import Repository
from skillgit.train.archive.journal import RunInfo, RunState, StepRecord
from skillgit.train.repair.audit.auditing import audit
from skillgit.train.repair.audit.report import Report
from skillgit.train.repair.mending import examine_skill
from skillgit.train.repair.reading import (
    Reader,
    blob_id,
    chain_of,
    commit_of,
    measurement,
    number,
    parsed,
    trial_number,
)
from skillgit.train.scoring.scores import Trial

DEEP = b"[" * 100_000
FILES = {"run.json": RunInfo, "state.json": RunState, "step.json": StepRecord}
WRONG: tuple[Any, ...] = (None, True, 10**4000, "1e999999999", "\ud800\x1b[2J", [[]], {"": [None]})


def looked_at(here: Yard) -> Report:
    """Both commands, on a journal that may hold anything."""
    repo = Repository.open(here.root)
    try:
        for repair in (False, True):
            for finding in examine_skill(repo, SKILL, DOCUMENT, repair=repair):
                assert finding.exit_code in (0, 2)
        return asyncio.run(audit(repo, SKILL, DOCUMENT, "main"))
    finally:
        repo.close()


@pytest.mark.parametrize("name", [*FILES, "scores.json"])
@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{", b"null", b"{}", b"\xff\xfe", DEEP, b'{"a":' * 50_000, b'{"step": 1' + b"0" * 5000 + b"}", None],
    ids=["empty", "list", "cut", "null", "object", "binary", "deep list", "deep object", "huge number", "gone"],
)
def test_a_file_that_is_no_journals(here: Yard, name: str, data: bytes | None) -> None:
    ref = tampering.journal_ref(here.root, SKILL)
    tampering.replace_last(here.root, ref, {name: data})
    report = looked_at(here)
    if (name, data) == ("scores.json", b"{}"):
        assert "best" not in {one.where for one in report.differences}
    else:
        names = {f"journal {here.refs()[ref][:12]}", f"journal of {ref.rpartition('/')[2]}"}
        assert names & {one.where for one in report.differences}


@pytest.mark.parametrize("name", FILES)
def test_every_field_may_hold_anything(here: Yard, name: str) -> None:
    ref = tampering.journal_ref(here.root, SKILL)
    tip = here.refs()[ref]
    content = tampering.read(here.root, tip)[name]
    repo = Repository.open(here.root)
    entries, parents = repo.objects.list_files(tip), commit_of(repo, tip).parents
    person, message = "A <a@x.example> 1 +0000", "skillgit journal: topics step 4 accept-best"
    for place, field in enumerate(fields(FILES[name])):
        for number_, value in enumerate(WRONG):
            blob = repo.objects.write_blob(json.dumps({**content, field.name: value}).encode())
            tree = repo.objects.write_tree({**entries, name: Entry(0o100644, blob)}, None)
            forged = repo.objects.write("commit", commit_bytes(tree, parents, person, person, message))
            here.git("update-ref", ref, forged)
            assert json.dumps(asyncio.run(audit(repo, SKILL, DOCUMENT, "main")).to_json())
            if number_ == place % len(WRONG):
                assert list(examine_skill(repo, SKILL, DOCUMENT, repair=False))
    repo.close()


EDITS: tuple[Any, ...] = ({}, {"status": "applied"}, {"status": "applied", "op": [], "target": 5, "content": None})


@pytest.mark.parametrize("edit", EDITS)
def test_edits_may_be_anything(here: Yard, edit: dict[str, Any]) -> None:
    def change(at: int, files: dict[str, Any]) -> None:
        files["step.json"]["edits"] = [edit] * len(files["step.json"]["commits"])

    tampering.rewrite(here.root, tampering.journal_ref(here.root, SKILL), change)
    assert looked_at(here).differences != []


@pytest.mark.parametrize("scores", [{"t": 1}, {"t": [1]}, {"t": [["1/0", "1/1"]]}, {"t": [["2/1", "1/1"]]}, {"": []}])
def test_scores_may_be_anything(here: Yard, scores: dict[str, Any]) -> None:
    for name in ("step.json", "scores.json"):

        def change(at: int, files: dict[str, Any], name: str = name) -> None:
            if at == 2 and name == "step.json":
                files[name]["scores"] = scores
            elif at == 2:
                files[name] = dict.fromkeys(files[name], scores)

        tampering.rewrite(here.root, tampering.journal_ref(here.root, SKILL), change)
        assert looked_at(here).differences != []


@pytest.mark.parametrize(
    "rows", ["", "[1]\n", "{}\n", '{"document": 1}\n', '{"document": "x", "task": "t", "trial": 10}\n', "[" * 100_000]
)
def test_evidence_may_be_anything(here: Yard, rows: str) -> None:
    evidence = next(ref for ref in here.refs() if "/evidence/" in ref)
    tip = here.refs()[evidence]
    forged = tampering.commit_of(here.root, {"val.jsonl": rows.encode(), "rollouts.jsonl": rows.encode()}, tip, [])

    def change(at: int, files: dict[str, Any]) -> None:
        files["step.json"]["refs"] = [[evidence, None, forged]]

    tampering.rewrite(here.root, tampering.journal_ref(here.root, SKILL), change)
    looked_at(here)


def test_objects_that_git_would_not_write(here: Yard) -> None:
    ref, repo = tampering.journal_ref(here.root, SKILL), Repository.open(here.root)
    bad = here.git(
        "hash-object", "-t", "commit", "--literally", "-w", "--stdin", input="tree nowhere\n\nskillgit journal: x"
    )
    with pytest.raises(RepositoryError, match="is no well-formed commit"):
        commit_of(repo, bad)
    tip = here.refs()[ref]
    tree = here.git("rev-parse", f"{tip}^{{tree}}")
    lines = f"tree {tree}\nparent {bad}\nauthor A <a@x.example> 1 +0000\ncommitter A <a@x.example> 1 +0000\n\n"
    on_top = here.git(
        "hash-object", "-t", "commit", "-w", "--stdin", input=f"{lines}skillgit journal: topics step 4 x\n"
    )
    here.git("update-ref", ref, on_top)
    repo.close()
    repo = Repository.open(here.root)
    report = asyncio.run(audit(repo, SKILL, DOCUMENT, "main"))
    assert ("chain", "broken") in {(one.what, one.written) for one in report.differences}
    list(examine_skill(repo, SKILL, DOCUMENT, repair=False))
    repo.close()


@pytest.mark.parametrize("target", ["main", BRANCH, BEST_REF])
def test_a_journal_ref_that_points_elsewhere(here: Yard, target: str) -> None:
    here.git("update-ref", tampering.journal_ref(here.root, SKILL), target)
    report = looked_at(here)
    assert any(one.what == "chain" and one.computed.endswith("is no entry of a journal") for one in report.differences)


def test_a_journal_of_a_newer_version_is_named(here: Yard) -> None:
    ref = tampering.journal_ref(here.root, SKILL)
    tampering.replace_last(here.root, ref, {"run.json": b'{"format": 99}'})
    repo = Repository.open(here.root)
    with pytest.raises(RefusedError, match="was written by a newer skillgit; upgrade skillgit"):
        Reader(repo).info(here.refs()[ref])
    repo.close()


def test_a_chain_is_the_journals_commits_oldest_first(here: Yard) -> None:
    ref, repo = tampering.journal_ref(here.root, SKILL), Repository.open(here.root)
    chain = chain_of(repo, "run", here.refs()[ref])
    repo.close()
    assert list(chain.commits) == tampering.entries(here.root, ref)
    assert (chain.problem, chain.cut) == ("", False)


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_the_id_of_a_text_is_gits(tmp_path: Any, object_format: str) -> None:
    root = repos.make_repo(tmp_path / "repo", object_format=object_format)
    repo = Repository.open(root)
    for text in ("", "a\n", "é\r\n\0"):
        assert blob_id(repo, text.encode()) == repos.git(root, "hash-object", "--stdin", input=text.encode())
    repo.close()


def test_numbers() -> None:
    assert number("13/16", "x") == Fraction(13, 16)
    assert number(None, "x") is None
    assert number(f"1/{'9' * 4000}", "x") == Fraction(1, int("9" * 4000))
    for text in ("1/0", "17/16", "-1/2", "1", "0.5", "1e9", "1/2 ", "", "1/" + "9" * 4001):
        with pytest.raises(RefusedError, match="is no score"):
            number(text, "x")
    assert [trial_number(text) for text in ("1", "0", "1/2", "2/4")] == [1, 0, Fraction(1, 2), Fraction(1, 2)]
    assert [trial_number(value) for value in ("1/0", "3/2", "-1", "1e9", "nan", "", 1, 1.0, None, [])] == [None] * 10


def test_measurements() -> None:
    half = Trial(Fraction(1), Fraction(1, 2))
    assert measurement({"t": [["1/1", "1/2"], None], "u": []}, "x") == {"t": (half, None), "u": ()}
    for value in ([], {"t": None}, {"t": ["1/1"]}, {"t": [["1/1"]]}, {"t": [["1/1", "1/0"]]}, {"t": [[1, 1]]}):
        with pytest.raises(RefusedError):
            measurement(value, "x")


def test_json() -> None:
    assert parsed(b'{"a": 1}', "x") == {"a": 1}
    for data in (b"", b"[]", DEEP, b"{" + b'"a":{' * 60_000, b'{"a": 1' + b"0" * 5000 + b"}"):
        with pytest.raises(RefusedError, match="x is no JSON object"):
            parsed(data, "x")
