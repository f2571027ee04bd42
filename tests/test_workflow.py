"""The workflow of CI: it runs what `.ci/run` is, and may do no more than read."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

import skillgit
from skillgit.strictyaml import load

ROOT = Path(skillgit.__file__).parent.parent
PATH = ROOT / ".github/workflows/ci.yml"


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    # Read strictly, as YAML 1.2: YAML 1.1 would take the key `on` for a boolean.
    found, _ = load(PATH.read_text(encoding="utf-8"), PATH.name)
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    (job,) = workflow["jobs"].values()
    return list(job["steps"])


def test_it_runs_on_pushes_to_main_and_on_pull_requests(workflow: dict[str, Any]) -> None:
    assert set(workflow["on"]) == {"push", "pull_request"}, "never pull_request_target: it runs a stranger's code"
    assert workflow["on"]["push"] == {"branches": ["main"]}


def test_it_may_only_read(workflow: dict[str, Any], steps: list[dict[str, Any]]) -> None:
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert "permissions" not in job
        assert job["timeout-minutes"] <= 60
    (checkout,) = [step for step in steps if str(step.get("uses", "")).startswith("actions/checkout@")]
    assert checkout["with"]["persist-credentials"] is False
    assert "secrets." not in PATH.read_text(encoding="utf-8")


def test_it_runs_the_check_and_nothing_else(steps: list[dict[str, Any]]) -> None:
    commands = [step["run"] for step in steps if "run" in step]
    assert [shlex.split(command) for command in commands] == [["bash", ".ci/run"]]
    # An expression inside a command would be text of somebody else's that a shell runs.
    assert not any("${{" in command for command in commands)


def test_actions_are_githubs_own_and_of_a_version(steps: list[dict[str, Any]]) -> None:
    uses = [str(step["uses"]) for step in steps if "uses" in step]
    assert all(re.fullmatch(r"actions/[a-z-]+@(v\d+|[0-9a-f]{40})", name) for name in uses), uses


def test_the_pythons_are_those_of_the_project(workflow: dict[str, Any]) -> None:
    (job,) = workflow["jobs"].values()
    versions = job["strategy"]["matrix"]["python"]
    assert all(isinstance(version, str) for version in versions), "3.10 as a number is 3.1"
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'requires-python = ">=3.11"' in project
    assert min(versions, key=lambda v: tuple(map(int, v.split(".")))) == "3.11"
    assert all(f"Programming Language :: Python :: {version}" in project for version in versions)


class TestCheckScript:
    TEXT = (ROOT / ".ci/run").read_text(encoding="utf-8")

    def test_it_is_executable_and_parses(self) -> None:
        assert os.access(ROOT / ".ci/run", os.X_OK)
        subprocess.run(["bash", "-n", ROOT / ".ci/run"], check=True)

    def test_a_wrong_argument_is_refused(self) -> None:
        done = subprocess.run(["bash", ROOT / ".ci/run", "--al"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", "usage: .ci/run [--all]\n")

    def test_it_runs_the_readmes_own_command_in_a_fresh_environment(self) -> None:
        readme = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
        lines = [line for line in readme if line.startswith("python3 -m venv ")]
        demo, tests = lines
        assert demo.endswith("skillgit demo")
        assert tests.endswith("python -m pytest")
        # The script takes the first line with `pytest`, and puts its own folder in the place of .venv.
        pattern = re.search(r"grep -m 1 '([^']+)' README\.md", self.TEXT)
        assert pattern
        assert next(line for line in readme if re.search(pattern[1], line)) == tests
        assert 'command=${command//.venv/"$scratch/venv"}' in self.TEXT
        assert tests.replace(".venv", "X").count("X") == 3

    def test_it_checks_lint_format_types_and_help(self) -> None:
        for part in ('ruff" check .', 'ruff" format --check .', 'mypy"', ".ci/help_text.py", "pytest -m soak"):
            assert part in self.TEXT
