"""The helper process that searches, spoken to directly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import skillgit.envs.regex_worker

WORKER = Path(skillgit.envs.regex_worker.__file__)


def ask(*requests: list[object]) -> tuple[int, list[str]]:
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    command = [sys.executable, "-I", "-S", str(WORKER)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.split()


def test_answers_each_line_and_ends_with_its_input() -> None:
    assert ask(["a", "a", 5], ["b", "a", 5], ["é", "\u00e9", 5]) == (0, ["true", "false", "true"])


def test_ends_itself_when_a_search_takes_too_long() -> None:
    code, answers = ask(["a", "a", 5], ["(a+)+$", "a" * 60 + "b", 0.3], ["a", "a", 5])
    assert code != 0
    assert answers == ["true"]
