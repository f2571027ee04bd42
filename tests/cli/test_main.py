"""The command line frame: listing stays light, failures become one line and the right exit code."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import click
import pytest

from skillgit.cli import main as frame
from skillgit.errors import ConfigError, InterruptedRunError, ModelError

HEAVY = {"openai", "anthropic", "xllamacpp", "pygit2", "git", "rich", "pydantic", "yaml", "httpx", "genai_prices"}


def skillgit(*arguments: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "skillgit", *arguments],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], ["trian"]])
def test_listing_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from skillgit.cli.main import dispatch\n"
        f"dispatch({arguments!r})\n"
        "sys.stderr.write('|' + ','.join(sorted({m.split('.')[0] for m in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert not HEAVY & set(done.stderr.rpartition("|")[2].split(","))


def test_help_lists_the_verbs_that_exist() -> None:
    done = skillgit("--help")
    assert done.returncode == 0
    assert frame.VERBS["model"][1] in done.stdout
    assert done.stderr == ""


def test_a_verb_whose_module_is_absent_does_not_break_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(frame.VERBS, "later", ("skillgit.cli.not_there_yet", "Comes later."))
    assert frame.dispatch(["--help"]) == 0
    assert "later" not in capsys.readouterr().out
    assert frame.dispatch(["later"]) == 2


def test_every_verb_loads_and_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    context = click.Context(frame.main)
    for verb in frame.main.list_commands(context):
        assert frame.dispatch([verb, "--help"]) == 0, verb
        assert f"{verb}" in capsys.readouterr().out


def test_unknown_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert frame.dispatch(["modle"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("skillgit: error: no command 'modle'; did you mean 'model'?")
    assert error.count("\n") == 1


def test_no_command_shows_help_and_ends_with_2() -> None:
    done = skillgit()
    assert (done.returncode, done.stdout) == (2, "")
    assert "Commands:" in done.stderr


def test_wrong_option_is_one_line_with_code_2() -> None:
    done = skillgit("model", "--nope")
    assert done.returncode == 2
    assert done.stderr.startswith("skillgit: error: No such option")
    assert done.stderr.count("\n") == 1


class TestChangeDirectory:
    @pytest.fixture
    def where(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
        @click.command("where")
        def command() -> None:
            click.echo(os.getcwd())

        _verb(monkeypatch, command)
        (tmp_path / "a" / "b").mkdir(parents=True)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    @pytest.mark.parametrize(
        ("options", "there"),
        [
            (["-C", "a"], "a"),
            (["-C", "a", "-C", "b"], "a/b"),
            (["-C", "a", "-C", ""], "a"),
            (["-C", "a", "-C", ".."], "."),
        ],
    )
    def test_as_git(self, where: Path, capsys: pytest.CaptureFixture[str], options: list[str], there: str) -> None:
        assert frame.dispatch([*options, "probe"]) == 0
        assert capsys.readouterr().out.strip() == str((where / there).resolve())

    def test_a_missing_folder(self, where: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert frame.dispatch(["-C", "nowhere", "probe"]) == 2
        assert capsys.readouterr().err == (
            "skillgit: error: -C nowhere: No such file or directory; name a folder that exists\n"
        )


def _verb(monkeypatch: pytest.MonkeyPatch, command: click.Command) -> None:
    """Puts `command` into the table as `probe`."""
    module = type(sys)("skillgit_probe")
    module.command = command  # type: ignore[attr-defined]
    module.__spec__ = ModuleSpec("skillgit_probe", None)
    monkeypatch.setitem(sys.modules, "skillgit_probe", module)
    monkeypatch.setitem(frame.VERBS, "probe", ("skillgit_probe", "Probe."))


def _raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    @click.command("probe")
    def command() -> None:
        raise error

    _verb(monkeypatch, command)


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ConfigError("skillgit.yaml:3: no", mend="mend it"), 2, "skillgit: error: skillgit.yaml:3: no; mend it\n"),
        (ModelError("dead"), 3, "skillgit: error: dead\n"),
        (InterruptedRunError("stopped", mend="go on"), 130, "skillgit: stopped; go on\n"),
        (KeyboardInterrupt(), 130, "skillgit: interrupted\n"),
        (
            OSError(errno.ENOSPC, "No space left on device", "/x/y"),
            2,
            "skillgit: error: /x/y: no space left on the disk; free some space and run the command again\n",
        ),
        (
            ExceptionGroup("tasks", [ModelError("a"), ExceptionGroup("inner", [ModelError("b")])]),
            3,
            "skillgit: error: a\n",
        ),
        (BaseExceptionGroup("tasks", [ModelError("a"), KeyboardInterrupt()]), 130, "skillgit: interrupted\n"),
        (ConfigError("two\nlines\x1b[31m"), 2, "skillgit: error: two lines\\x1b[31m\n"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_failures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, line: str
) -> None:
    _raising(monkeypatch, error)
    assert frame.dispatch(["probe"]) == code
    assert capsys.readouterr().err == line


class TestBug:
    def test_the_traceback_goes_to_a_file(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        monkeypatch.delenv("SKILLGIT_DEBUG", raising=False)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        _raising(monkeypatch, ZeroDivisionError("oops"))
        assert frame.dispatch(["probe"]) == 4
        (kept,) = tmp_path.iterdir()
        assert "Traceback" in kept.read_text()
        error = capsys.readouterr().err
        assert error.startswith("skillgit: error: bug: ZeroDivisionError: oops; the traceback is in ")
        assert str(kept) in error
        assert error.count("\n") == 1

    def test_debug_shows_it(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setenv("SKILLGIT_DEBUG", "1")
        _raising(monkeypatch, ZeroDivisionError("oops"))
        assert frame.dispatch(["probe"]) == 4
        assert "Traceback (most recent call last)" in capsys.readouterr().err

    def test_in_a_group_of_tasks_a_bug_is_told_before_a_dead_model(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        _raising(monkeypatch, ExceptionGroup("tasks", [ModelError("dead"), KeyError("x")]))
        assert frame.dispatch(["probe"]) == 4
        assert "KeyError" in capsys.readouterr().err


@pytest.mark.parametrize(("value", "code"), [(None, 0), (0, 0), (1, 1), ("text", 0), (True, 0)])
def test_the_code_that_a_verb_returns(monkeypatch: pytest.MonkeyPatch, value: object, code: int) -> None:
    @click.command("probe")
    def command() -> object:
        return value

    _verb(monkeypatch, command)
    assert frame.dispatch(["probe"]) == code


def test_a_reader_that_leaves_is_no_error() -> None:
    code = (
        "import sys, os, click; from skillgit.cli import main as frame\n"
        "def lots(): [click.echo('x' * 1000) for _ in range(1000)]\n"
        "frame.main.callback = lots; frame.main.invoke_without_command = True; frame.main.no_args_is_help = False\n"
        "sys.exit(frame.dispatch([]))"
    )
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
