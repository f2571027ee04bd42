"""The rules of the house, checked on the code itself (DESIGN, section 4)."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import skillgit

PACKAGE = Path(skillgit.__file__).parent
ROOT = PACKAGE.parent
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 60
CATCHES_ALL = {"skillgit.train.watch.callbacks": 1}
"""Where everything may be caught and not passed on: a listener is anybody's code, and must not break a run."""

# Rooms and modules at the top of the package, by floor. What stands on one floor does not know its neighbours.
FLOORS = [
    {"__main__"},
    {"cli"},
    {"train"},
    {"envs"},
    {"store", "document", "models", "execute"},
    {"config"},
    {"strictyaml"},
    {"redact"},
    {"errors"},
    {"__init__"},
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def name_of(path: Path) -> str:
    """A file's module name: `skillgit.train.step`, a package's by its `__init__`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}


def room(module: str) -> str:
    """The room that a module of ours lies in."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imported(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Modules of ours that a tree names in its imports, wherever they stand, with their lines."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            joined = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in FILES else node.module for name in joined]
        yield from ((name, node.lineno) for name in names if name.split(".")[0] == "skillgit")


def test_every_room_has_a_floor() -> None:
    assert {room(name) for name in FILES} - FLOOR.keys() == set()


@pytest.mark.parametrize("module", FILES)
def test_imports_point_down(module: str) -> None:
    here = room(module)
    wrong = [
        f"{FILES[module]}:{line}: {here} imports {other}"
        for other, line in imported(TREES[module])
        if room(other) != here and FLOOR[room(other)] <= FLOOR[here]
    ]
    assert wrong == []


def test_no_module_imports_itself_in_a_circle() -> None:
    """Only imports that run when the module is loaded."""
    graph = {
        name: {other for node in loaded(tree.body) for other, _ in imported(node) if other != name}
        for name, tree in TREES.items()
    }
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> None:
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in done:
            for other in sorted(graph[name] & graph.keys()):
                visit(other, [*path, name])
            done.add(name)

    for name in graph:
        visit(name, [])


def loaded(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Import statements that are executed on import: not in functions, not for the type checker alone."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from loaded(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ClassDef):
            for field in ("body", "orelse", "finalbody"):
                yield from loaded(getattr(node, field, []))


@pytest.mark.parametrize("module", FILES)
def test_no_relative_imports(module: str) -> None:
    relative = [n.lineno for n in ast.walk(TREES[module]) if isinstance(n, ast.ImportFrom) and n.level]
    assert relative == []


@pytest.mark.parametrize("module", FILES)
def test_exceptions_are_caught_narrowly(module: str) -> None:
    """Everything may be caught only to clean up and pass it on, where a command line ends, where a listener does."""
    wide = []
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.ExceptHandler):
            caught = {name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)} if node.type else {"all"}
            passes_on = any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(node))
            if caught & {"all", "Exception", "BaseException"} and not passes_on:
                wide.append(node.lineno)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            wide += [node.lineno for arg in node.args if ast.unparse(arg) in ("Exception", "BaseException")]
    assert len(wide) == CATCHES_ALL.get(module, 0)


@pytest.mark.parametrize("module", FILES)
def test_modules_and_functions_are_short(module: str) -> None:
    lines = len(FILES[module].read_text(encoding="utf-8").splitlines())
    assert lines <= MOST_LINES
    long = [
        f"{node.name}: {length}"
        for node in ast.walk(TREES[module])
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and (length := node.end_lineno - node.lineno + 1) > MOST_LINES_OF_A_FUNCTION
    ]
    assert long == []


@pytest.mark.parametrize("module", FILES)
def test_nothing_is_left_to_be_done(module: str) -> None:
    text = FILES[module].read_text(encoding="utf-8")
    assert re.findall(r"\b(?:TODO|FIXME|XXX|HACK|raise NotImplementedError)\b", text) == []
    assert ast.get_docstring(TREES[module]), "a module says what it is for"


def tracked() -> list[Path]:
    """The text files of the repository, without what tests of redaction feed it."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    names = [n for n in done.stdout.decode().split("\0") if n and not n.startswith(("tests/cases/", "tests/redact/"))]
    return [ROOT / name for name in names if (ROOT / name).is_file() and ROOT / name != Path(__file__)]


# What would tell of the machine that a file was written on, or of where it gets its packages.
TRACES = {
    "home": r"/(?:home|Users)/(?!(?:you|me|user|somebody|[a-z]*\d)\b)[A-Za-z]",
    "root": r"(?<![\w.])/(?:root|work|mnt|opt)/[A-Za-z]",
    "temporary": r"(?<![\w.])/tmp/[A-Za-z]",
    "registry": r"pypi\.org|pythonhosted\.org|index-url|artifactory|\bnexus\b",
    "address": r"(?<![\w.])(?!127\.0\.0\.1|0\.0\.0\.0|10\.0\.0\.|192\.0\.2\.)\d{1,3}(?:\.\d{1,3}){3}(?![\w.])",
}


@pytest.mark.parametrize("trace", TRACES)
def test_no_file_tells_of_a_machine(trace: str) -> None:
    found = []
    for path in tracked():
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in re.finditer(TRACES[trace], text)]
    assert found == []


def test_mail_addresses_are_examples() -> None:
    """RFC 2606 and RFC 6761: names that can belong to nobody."""
    found = []
    for path in tracked():
        text = path.read_text(encoding="utf-8", errors="replace")
        for match in re.finditer(r"[\w.+-]+@((?:[\w-]+\.)+[a-z]{2,})\b", text):
            if not re.search(r"(^|\.)(example(\.(com|org|net))?|invalid|test|localhost)$", match[1].lower()):
                found.append(f"{path.relative_to(ROOT)}: {match[0]}")
    assert found == []
