"""Help: light to load, the same as the page in the docs, and every option of it does something."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import skillgit
from skillgit.cli.main import VERBS

ROOT = Path(skillgit.__file__).parent.parent
HEAVY = {
    *("openai", "anthropic", "xllamacpp", "pygit2", "git", "rich", "pydantic", "yaml", "httpx", "genai_prices"),
    *("json_repair", "sqlite3", "asyncio", "hypothesis"),
}

PROBE = """
import contextlib, io, json, sys
from skillgit.cli.main import VERBS, dispatch
seen = {}
for words in [["--help"], ["--version"], *([verb, "--help"] for verb in VERBS), ["rejected", "list", "--help"]]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = dispatch(words)
    seen[" ".join(words)] = [code, out.getvalue(), sorted({name.split(".")[0] for name in sys.modules})]
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def helped() -> dict[str, tuple[int, str, list[str]]]:
    """Exit code, text, and what was loaded after each help, in one process."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def test_no_help_loads_what_only_work_needs(helped: dict[str, tuple[int, str, list[str]]]) -> None:
    loaded = {words: sorted(HEAVY & set(modules)) for words, (_, _, modules) in helped.items()}
    assert {words: names for words, names in loaded.items() if names} == {}


def test_every_verb_has_help_with_its_short_help_listed(helped: dict[str, tuple[int, str, list[str]]]) -> None:
    assert {words for words, (code, _, _) in helped.items() if code} == set()
    listing = helped["--help"][1]
    for verb, (_, short) in VERBS.items():
        assert f"  {verb} " in listing
        assert short.split(";")[0].split(" and ")[0] in listing.replace("\n", " ")
        text = helped[f"{verb} --help"][1]
        assert text.startswith(f"Usage: skillgit {verb}")
        assert len(text.splitlines()) > 4


def test_the_page_in_the_docs_is_current() -> None:
    done = subprocess.run([sys.executable, ROOT / ".ci/help_text.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_page_says_what_help_says(helped: dict[str, tuple[int, str, list[str]]]) -> None:
    """The same words; only the width of the lines is the page's own."""
    page = " ".join((ROOT / "docs/commands.md").read_text(encoding="utf-8").split())
    for words, (_, text, _) in helped.items():
        if words.endswith("--help"):
            assert " ".join(text.split()) in page, words


def test_a_stale_page_is_shown_and_not_written(tmp_path: Path) -> None:
    copy = tmp_path / ".ci/help_text.py"
    copy.parent.mkdir()
    copy.write_text((ROOT / ".ci/help_text.py").read_text(encoding="utf-8"), encoding="utf-8")
    page = tmp_path / "docs/commands.md"
    page.parent.mkdir()
    page.write_text("# Commands\n\nold\n")
    stale = subprocess.run([sys.executable, copy], capture_output=True, text=True, check=False)
    assert stale.returncode == 1
    assert "-old" in stale.stdout
    assert page.read_text() == "# Commands\n\nold\n"
    assert subprocess.run([sys.executable, copy, "--write"], check=False).returncode == 0
    assert page.read_text(encoding="utf-8") == (ROOT / "docs/commands.md").read_text(encoding="utf-8")


def _commands() -> list[tuple[str, ast.FunctionDef]]:
    """Every function of the command line that click calls."""
    found = []
    for path in (ROOT / "skillgit/cli").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and any("option" in ast.unparse(d) for d in node.decorator_list):
                found.append((f"{path.name}:{node.name}", node))
    return found


@pytest.mark.parametrize(("place", "function"), _commands(), ids=lambda value: value if isinstance(value, str) else "")
def test_every_option_is_used(place: str, function: ast.FunctionDef) -> None:
    parameters = {argument.arg for argument in function.args.args}
    read = {n.id for stmt in function.body for n in ast.walk(stmt) if isinstance(n, ast.Name)}
    assert parameters - read == set()


def test_the_tables_options_that_exist_are_named_as_in_the_design() -> None:
    """Section 5 of the design, as far as it is built."""
    page = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    sections = {part.split("\n")[0].strip(): part for part in page.split("\n## skillgit ")[1:]}
    wanted = {
        "train": ["--fresh", "--set", "--exit-code", "--json"],
        "eval": ["--rev", "--split", "--target", "--json"],
        "init": ["--skill", "--document", "--env"],
        "merge": ["--into", "--json"],
        "status": ["--json"],
        "log": ["--json"],
        "rejected list": ["--json"],
        "rejected show": ["--json"],
        "doctor": ["--json"],
    }
    missing = {verb: [o for o in options if o not in sections[verb]] for verb, options in wanted.items()}
    assert {verb: options for verb, options in missing.items() if options} == {}
