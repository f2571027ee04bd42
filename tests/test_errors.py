"""The exception tree: exit codes, and one line each."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from skillgit import errors
from skillgit.errors import ConflictError, OutsideError, SkillgitError, UsageError

PACKAGE = Path(errors.__file__).parent
CLASSES = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, SkillgitError)]


@pytest.mark.parametrize("kind", CLASSES)
def test_every_class_has_an_exit_code_of_its_branch(kind: type[SkillgitError]) -> None:
    expected = {UsageError: 2, OutsideError: 3}
    branch = next((code for base, code in expected.items() if issubclass(kind, base)), None)
    assert kind.exit_code == (branch if branch is not None else {"InterruptedRunError": 130}.get(kind.__name__, 4))


@pytest.mark.parametrize("kind", CLASSES)
def test_message_and_mend(kind: type[SkillgitError]) -> None:
    error = kind("skillgit.yaml:3: wrong", mend="mend it")
    assert (str(error), error.message, error.mend) == (
        "skillgit.yaml:3: wrong; mend it",
        "skillgit.yaml:3: wrong",
        "mend it",
    )
    assert str(kind("bare")) == "bare"
    assert kind.__doc__


def test_a_conflict_shows_both_sides() -> None:
    assert ConflictError("x", shown="<<<<<<<").shown == "<<<<<<<"
    assert ConflictError("x").shown == ""


def test_no_class_is_there_for_nothing() -> None:
    used: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        if path.name != "errors.py":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            used |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    # A room imports the names that it raises; the base of all is what the command line catches.
    assert {kind.__name__ for kind in CLASSES} - used == set()
