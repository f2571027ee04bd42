"""What a field of a journal can be: whoever can push can write one, so nothing else gets further."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support import repos, tampering, training
from support.cli import call
from support.training import SKILL, Yard, mixed, trained_once

from skillgit.errors import RefusedError
from skillgit.train.archive import forms
from skillgit.train.archive.journal import RunInfo, RunState, StepRecord, load

OID = "ab" * 20
KINDS: list[tuple[Any, dict[str, Any]]] = [
    (RunInfo, {"run": "01k9x0c5v2m8q4t7b3n6r1d9sf", "skill": "t", "document": "SKILL.md", "base": OID}),
    (RunState, dict.fromkeys(("tip", "incumbent", "best", "best_commit"), OID) | {"val": "x", "target": {}}),
    (StepRecord, {"kind": "step", "step": 1, "epoch": 1, "decision": "none", "reason": "", "document": OID}),
]
KINDS[0][1].update(settings={}, total_steps=4)
KINDS[2][1].update(document_before=OID)
ANYTHING = [None, True, 1.5, "1/0", "--output=x", [], [1], [None], [[1]], {}, {"a": [1]}, [{"op": 1}]]
"""For each declared type several that it is not."""


@pytest.mark.parametrize("text", ["0", "1", "0/1", "1/3", "16/16", f"1/{10**3000}"])
def test_scores(text: str) -> None:
    assert forms.score(text) == Fraction(text)
    assert forms.is_score(text)


@pytest.mark.parametrize(
    "text", ["", "2", "3/2", "1/0", "0/0", "-1/2", "1e999999999", "1e-999999999", "0.5", " 1", "1\n", "¹/2", "9" * 5000]
)
def test_no_scores(text: str) -> None:
    """Python itself would be busy with `1e999999999` for as long as anybody waits."""
    assert not forms.is_score(text)
    with pytest.raises(ValueError, match="is no score"):
        forms.score(text)


@pytest.mark.parametrize("value", [1, 1.0, [], {}, True])
def test_what_is_no_text_is_no_score(value: object) -> None:
    assert not forms.is_score(value)


@pytest.mark.parametrize(("value", "fits"), [("", True), (OID, True), ("ab" * 32, True), (OID + "\n", False)])
def test_ids(value: str, fits: bool) -> None:
    assert forms.is_id(value) == fits


@pytest.mark.parametrize("value", ["HEAD", "--output=x", OID[:39], OID.upper(), 7, None])
def test_no_ids(value: object) -> None:
    assert not forms.is_id(value)


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({}, True),
        ({"calls": 3, "tokens": 10, "usd": "0.1250", "rows": []}, True),
        ({"usd": None}, True),
        ({"usd": "1e999999999999"}, False),
        ({"usd": "NaN"}, False),
        ({"usd": 1}, False),
        ({"calls": "3"}, False),
        ({"calls": -1}, False),
        ({"tokens": 10**30}, False),
        ([], False),
    ],
)
def test_costs(value: object, fits: bool) -> None:
    assert forms.is_cost(value) == fits


@pytest.mark.parametrize("path", ["skills/a b/[x]*.md", "ü/SKILL.md", "'\"\\"])
def test_paths(path: str) -> None:
    assert forms.is_path(path)


@pytest.mark.parametrize("path", ["a\nb", "a\0b", "a\x1b[2J", 7])
def test_no_paths(path: object) -> None:
    assert not forms.is_path(path)


@pytest.mark.parametrize(("kind", "least"), KINDS, ids=lambda value: getattr(value, "__name__", ""))
def test_every_field_takes_what_it_is_declared_to_have_and_nothing_else(kind: Any, least: dict[str, Any]) -> None:
    def loaded(**more: object) -> Any:
        return load(kind, json.dumps({**least, **more}).encode(), "c" * 40)

    made = loaded()
    for name in kind.__dataclass_fields__:
        own = getattr(made, name)
        assert getattr(loaded(**{name: own}), name) == own
        for value in ANYTHING:
            try:
                found = getattr(loaded(**{name: value}), name)
            except RefusedError:
                continue
            assert type(found) in (type(own), type(None)) or (own is None and isinstance(found, str)), name


def test_other_candidates_are_looked_at_as_closely() -> None:
    row = {**KINDS[2][1], "candidate": 2}
    assert load(StepRecord, json.dumps({**row, "others": [row]}).encode(), "c" * 40).others == [row]
    for wrong in ({"score": "1e999999999"}, {"document": "--output=x"}, {"others": [row]}, {"candidate": [1]}):
        with pytest.raises(RefusedError, match="is not readable"):
            load(StepRecord, json.dumps({**row, "others": [{**row, **wrong}]}).encode(), "c" * 40)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with trained_once(tmp_path_factory.mktemp("forms") / "repo", mixed(), ["train.num_epochs=1"]) as made:
        yield made


@pytest.fixture
def here(trained: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    repos.plain_environment(monkeypatch)
    return training.copied(trained, tmp_path / "repo", monkeypatch)


LOOKING = [
    ["log", SKILL, "--graph", "--rejected"],
    ["log", SKILL, "--json"],
    ["show", SKILL],
    ["show", SKILL, "--json"],
    ["status", SKILL],
    ["status", SKILL, "--json"],
    ["diff", SKILL, "0", "1"],
    ["blame", SKILL],
    ["compare", SKILL, f"{SKILL}@01"],
    ["rejected", "list", SKILL, "--order", "close"],
]
FORGED: list[tuple[str, str, object]] = [
    ("step.json", "document_before", "--output=pwned"),
    ("step.json", "commits", ["--output=pwned"]),
    ("step.json", "score", "1e400"),
    ("step.json", "candidate", {"a": 1}),
    ("step.json", "others", "text"),
    ("step.json", "lost", 2.5),
    ("step.json", "commits", {"a": 1}),
    ("step.json", "cost", {"calls": 1, "usd": "1e999999999999"}),
    ("state.json", "step", {}),
    ("state.json", "tip", "--output=pwned"),
    ("run.json", "run", -1),
    ("run.json", "document", "a\nb"),
    ("scores.json", "x", {"t": [["1e999999999", "1"]]}),
]


@pytest.mark.parametrize(("file", "key", "value"), FORGED, ids=lambda value: str(value)[:30])
def test_a_forged_journal_neither_breaks_nor_commands_what_looks(
    here: Yard, file: str, key: str, value: object
) -> None:
    """An id that is an option would make git write a file."""

    def change(number: int, files: dict[str, Any]) -> None:
        files[file][key] = value

    tampering.rewrite(here.root, tampering.journal_ref(here.root, SKILL), change)
    for command in LOOKING:
        done = call(here.root, *command)
        assert done.code in (0, 2), (command, done.err)
    assert not (here.root / "pwned").exists()
    assert here.git("status", "--porcelain") == ""
