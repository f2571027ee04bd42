"""docs/git.md: every command runs in a trained repository and shows what is true; its tables are those of the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import cli
from support.documented import PAGE, Command, Scene, commands, scene
from support.documented_sharing import CHECKS

import skillgit
from skillgit.store import pruned
from skillgit.store.refs import NOTES, SkillRefs
from skillgit.store.sync.namespaces import shared, tracking
from skillgit.train.archive.messages import VERBS as OPS
from skillgit.train.hooks.commit_message import FORMS

PACKAGE = Path(skillgit.__file__).parent
TEXT = PAGE.read_text(encoding="utf-8")
COMMANDS = commands(TEXT)
RUN = "01k9x0c5v2m8q4t7b3n6r1d9sf"
ASKED = (
    *("log", "show", "diff", "blame", "status", "compare", "revert", "cherry-pick", "rollback", "bisect", "attribute"),
    *("rejected list", "merge", "push", "fetch", "doctor --repair", "verify", "eval", "train"),
)
"""The verbs whose questions the page answers."""


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cli.plain_environment(monkeypatch, tmp_path / "home")


def check_of(command: Command) -> list[str]:
    """The checks that a command has."""
    return [part for part in CHECKS if part in f"$ {command.text}"]


def test_every_command_has_one_check_and_every_check_a_command() -> None:
    assert {c.text: n for c in COMMANDS if (n := len(check_of(c))) != 1} == {}
    assert CHECKS.keys() - {part for command in COMMANDS for part in check_of(command)} == set()


def test_every_command_runs_and_shows_what_is_true(tmp_path: Path) -> None:
    with scene(tmp_path) as here:
        section = ""
        for command in COMMANDS:
            if command.section == "Repair" != section:
                here.lose_a_journal()
            section = command.section
            here.run(command)
            verified(here, command)


def verified(here: Scene, command: Command) -> None:
    (part,) = check_of(command)
    try:
        CHECKS[part](here)
    except AssertionError as error:
        raise AssertionError(f"docs/git.md:{command.line}: {command.text}\n{here.out}\n{error}") from error


@pytest.mark.parametrize("verb", ASKED)
def test_the_page_names_the_verb_beside_the_commands(verb: str) -> None:
    assert re.search(rf"skillgit {verb}\b", TEXT.partition("# The same with plain git")[2])


def rows(heading: str) -> Iterator[list[str]]:
    """The cells of the table whose first heading this is."""
    after = TEXT.partition(f"| {heading} |")[2].split("\n\n")[0].splitlines()[2:]
    return ([cell.strip() for cell in line.strip("|").split(" | ")] for line in after)


def test_the_table_of_refs_is_that_of_the_code() -> None:
    refs = SkillRefs("name")
    ours = {
        *(refs.branch, refs.best, refs.published, refs.tasks, refs.journal(RUN), refs.evidence(RUN), NOTES),
        *(refs.rejected(RUN, 7, 1), refs.epoch_tag(RUN, 2), refs.release_tag(1), f"{pruned.PREFIX}name"),
    }
    shown = {re.sub(r"SSSSS-KK", "00007-01", cells[0].strip("`")): cells for cells in rows("ref")}
    named = {
        ref.replace("epoch-NN", "epoch-02").replace("/vN", "/v1").replace("RUN", RUN).replace("NAME", "name"): cells
        for ref, cells in shown.items()
    }
    copies = {ref for ref in named if "REMOTE" in ref}
    assert named.keys() - copies == ours
    for ref, cells in named.items():
        travels = shared(ref) is not None or ref == NOTES
        assert cells[2] == ("with `--evidence`" if "/evidence/" in ref else "yes" if travels else "no"), ref
    kept = {tracking("REMOTE", found) for ref in ours if (found := shared(ref)) and not found.kind.immutable}
    assert {re.sub(r"(remotes/REMOTE/)(?!skill/).*", r"\1…", ref) for ref in kept} == copies


def modules() -> Iterator[tuple[Path, ast.Module, dict[str, str]]]:
    """Each module with its constants that are texts."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield path, tree, dict(constants(tree))


def constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name | ast.Tuple):
            continue
        targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else [node.targets[0]]
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        for target, value in zip(targets, values, strict=False):
            if isinstance(target, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield target.id, value.value


def said(node: ast.AST | None, known: dict[str, str]) -> str:
    """A text, or the text that a name stands for; empty for all else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return known.get(node.id, "") if isinstance(node, ast.Name) else ""


def kinds_of_commits() -> Iterator[str]:
    """Every text that the code gives a commit as its `Skill-Kind`."""
    for _, tree, known in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                place = {"plain_message": 1, "put": 1, "Change": 0, "Bout": 0}.get(node.func.id)
                if place is not None and len(node.args) > place:
                    yield said(node.args[place], known)
                if node.func.id in ("Bout", "edit_message", "write_candidate"):
                    yield from (said(one.value, known) for one in node.keywords if one.arg == "kind")
            if isinstance(node, ast.Tuple) and len(node.elts) == 2 and said(node.elts[0], {}) == "Skill-Kind":
                yield said(node.elts[1], known)


def test_the_kinds_of_commits_are_those_of_the_code() -> None:
    shown = {kind for cells in rows("`Skill-Kind`") for kind in re.findall(r"`([a-z-]+)`", cells[0])}
    assert shown == {kind for kind in kinds_of_commits() if kind}


def kinds_of_entries() -> Iterator[str]:
    """Every kind that the code gives an entry of a journal; what becomes a commit on the branch is an entry as well."""
    for _, tree, known in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                place = {"record_event": 1, "StepRecord": 0}.get(node.func.id)
                if place is not None and len(node.args) > place:
                    yield said(node.args[place], known)
    yield from set(kinds_of_commits()) - {"release"}


def test_the_kinds_of_entries_are_those_of_the_code() -> None:
    (listed,) = re.findall(r"Entries are of the kinds(.*?)\. ", TEXT, re.DOTALL)
    assert set(re.findall(r"`([a-z-]+)`", listed)) == set(kinds_of_entries()) - {""}


def test_the_kinds_of_notes_are_those_of_the_code() -> None:
    found = set()
    for path, tree, known in modules():
        if not re.search(r"\badd_note\b|def fact\b", path.read_text(encoding="utf-8")):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                pairs = zip(node.keys, node.values, strict=True)
                values = [value for key, value in pairs if said(key, {}) == "kind"]
                found |= {said(part, known) for value in values for part in ast.walk(value)}
    assert {kind for cells in rows("kind") for kind in re.findall(r"`([a-z-]+)`", cells[0])} == found - {""}


def test_the_trailers_and_edits_are_those_of_the_code() -> None:
    section = TEXT.partition("## Commits and trailers")[2].partition("\n## ")[0]
    shown = set(re.findall(r"\bSkill-[A-Z][A-Za-z-]+", section))
    assert shown == {*FORMS, "Skill-Gate", "Skill-Best", "Skill-Rejoin"}
    literals = {n.value for _, tree, _ in modules() for n in ast.walk(tree) if isinstance(n, ast.Constant)}
    assert {text for text in literals if isinstance(text, str) and re.fullmatch(r"Skill(-[A-Z][a-z]+)+", text)} <= shown
    (listed,) = re.findall(r"what was done \(([^)]+)\)", section)
    assert set(re.findall(r"`(\w+)`", listed)) == set(OPS)
