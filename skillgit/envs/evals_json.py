"""`evals/evals.json` of an Agent Skills folder, read as it is, where it can be scored without a judge.

The format (agentskills.io and its skill-creator): `{"skill_name": …, "evals": [{"id": 1, "prompt": …,
"expected_output": …, "files": […], "expectations": […]}]}`; newer files say `assertions` for `expectations`. There,
`expected_output` describes success in words, and expectations are statements for a judge model.

What is read:

- `id` (a number or a text; else `name`) and `prompt` are the task's id and input.
- `files`: text files of the skill's folder; they follow the prompt as `<file name="…">…</file>`.
- `expectations` and `assertions` that a program can check become checks, all of which must pass:
  `{"type": "contains", "value": …}` (also `not_contains`, `equals` or `exact`, `regex` or `matches`, with `_` or `-`),
  skillgit's own `{"op": …, "arg": …}`, and statements of the form `The output contains "…"` or
  `The reply does not mention '…'`, whose words stand in quotes. A `name` is what a failed check is called.
- `expected_output` is shown to the optimizer as far as `reveal` allows. It is not compared with replies, since it is
  a description; an `env.yaml` beside the file, with `tasks: {all: evals.json}` and `scorer: exact` or `f1`, says that
  it is the answer itself.

Anything else is an error that says what is missing; other keys are left alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skillgit.envs import rows
from skillgit.envs.contract import Task
from skillgit.errors import ConfigError
from skillgit.models.base import Json

FILE_NAME = "evals.json"
FOLDER_NAME = "evals"

_OPS = {
    "contains": "contains",
    "includes": "contains",
    "not_contains": "not_contains",
    "not_includes": "not_contains",
    "exact": "exact",
    "equals": "exact",
    "regex": "regex",
    "matches": "regex",
}
_STATEMENT = re.compile(
    r"(?:the )?(?:final )?(?:output|reply|response|answer)(?: text)? "
    r"(?P<verb>(?:does not |doesn't |must not |must |should not |should )?(?:contains?|includes?|mentions?)) "
    r"(?:the (?:text|word|string|phrase) )?"
    r"(?:\"(?P<a>[^\"]+)\"|'(?P<b>[^']+)'|“(?P<c>[^”]+)”|`(?P<d>[^`]+)`)\.?",
    re.IGNORECASE,
)
_MOST_FILE_BYTES = 256 * 1024
_MEND = 'write it as {"type": "contains", "value": …}, or drop it; a judge model comes in a later version'


@dataclass(frozen=True, slots=True)
class Evals:
    """An `evals.json`: the name of its skill (may be empty) and its evals as tasks."""

    skill_name: str
    tasks: tuple[Task, ...]


def read(path: Path, where: str, *, with_checks: bool) -> Evals:
    """Read an `evals.json`.

    Args:
        where: how messages name the file.
        with_checks: expectations are what is scored; else `expected_output` is the answer, and they must be absent.

    Raises:
        ConfigError: names the file and the eval.
    """
    value = _parse(rows.read_text(path, where), where)
    evals = value.get("evals") if isinstance(value, dict) else None
    if not isinstance(evals, list):
        mend = 'write {"skill_name": …, "evals": [{"id": 1, "prompt": …}]}'
        raise ConfigError(f"{where}: evals: there is no list of evals", mend=mend)
    tasks: list[Task] = []
    for index, item in enumerate(evals):
        source = f"{where}: evals[{index}]"
        if not isinstance(item, dict):
            raise ConfigError(f"{source}: not an object", mend='write {"id": 1, "prompt": …}')
        task = _task(item, source, _skill_root(path), with_checks=with_checks)
        if twin := next((other for other in tasks if other.id == task.id), None):
            raise ConfigError(f"{source}: id: {task.id!r} is also the id of {twin.source}", mend="rename one")
        tasks.append(task)
    name = value.get("skill_name")
    return Evals(name if isinstance(name, str) else "", tuple(tasks))


def _parse(text: str, where: str) -> Json:
    try:
        return rows.parse_json(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{where}:{error.lineno}: not JSON: {error.msg}", mend="mend the line") from None
    except ValueError as error:
        raise ConfigError(f"{where}: not usable JSON: {error}", mend="mend the file") from None


def _skill_root(path: Path) -> Path:
    return path.parent.parent if path.parent.name == FOLDER_NAME else path.parent


def _task(item: dict[str, Json], source: str, root: Path, *, with_checks: bool) -> Task:
    identity = item.get("id", item.get("name"))
    if isinstance(identity, int) and not isinstance(identity, bool):
        identity = str(identity)
    row: dict[str, Json] = {"id": identity} if identity is not None else {}
    prompt = item.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise ConfigError(f"{source}: prompt: missing, empty or not a text", mend="write what the user asks")
    row["input"] = prompt + _attached(item.get("files"), source, root)
    if (expected := item.get("expected_output")) is not None:
        row["answer"] = expected
    statements = _statements(item, source)
    if with_checks:
        row["checks"] = _checks(statements, source)
    elif statements:
        mend = "use scorer: checks, or drop them"
        raise ConfigError(f"{source}: {statements[0][0]}: not scored, since the answer is compared", mend=mend)
    return rows.task_of(row, source, compared=not with_checks, numbers=False)


def _statements(item: Mapping[str, Json], source: str) -> list[tuple[str, Json]]:
    """All expectations with the key that they stand under."""
    found: list[tuple[str, Json]] = []
    for key in ("expectations", "assertions"):
        value = item.get(key)
        if value is not None and not isinstance(value, list):
            raise ConfigError(f"{source}: {key}: not a list", mend="write a list")
        found += [(f"{key}[{index}]", statement) for index, statement in enumerate(value or [])]
    return found


def _checks(statements: list[tuple[str, Json]], source: str) -> list[Json]:
    if not statements:
        mend = "add assertions, or say in an env.yaml beside the file that expected_output is the answer: scorer: exact"
        raise ConfigError(f"{source}: nothing to check: expected_output only describes success", mend=mend)
    return [_check(statement, f"{source}: {key}") for key, statement in statements]


def _check(statement: Json, where: str) -> Json:
    if isinstance(statement, str):
        return _check_of_words(statement, where)
    if not isinstance(statement, dict):
        raise ConfigError(f"{where}: neither a text nor an object", mend=_MEND)
    if "op" in statement:
        return {key: value for key, value in statement.items() if key != "description"}
    kind = statement.get("type")
    if kind is None and isinstance(statement.get("text"), str):
        return _check_of_words(statement["text"], where)
    op = _OPS.get(str(kind).replace("-", "_"))
    if op is None or "value" not in statement:
        known = ", ".join(sorted(_OPS))
        raise ConfigError(f"{where}: no type with a value that can be checked without a judge", mend=f"known: {known}")
    named = {"name": statement["name"]} if statement.get("name") else {}
    return {"op": op, "arg": statement["value"], **named}


def _check_of_words(statement: str, where: str) -> Json:
    match = _STATEMENT.fullmatch(statement.strip())
    if match is None:
        raise ConfigError(f"{where}: {statement[:60]!r} needs a judge", mend=_MEND)
    words = next(filter(None, (match["a"], match["b"], match["c"], match["d"])))
    negative = "n't" in match["verb"].lower() or "not" in match["verb"].lower().split()
    return {"op": "not_contains" if negative else "contains", "arg": words}


def _attached(files: Json, source: str, root: Path) -> str:
    """The text files of an eval as the end of its prompt."""
    if files is None:
        return ""
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        raise ConfigError(f"{source}: files: not a list of paths", mend="write paths relative to the skill's folder")
    parts = []
    for name in files:
        path, where = (root / name).resolve(), f"{source}: files: {name}"
        if not path.is_relative_to(root.resolve()):
            raise ConfigError(f"{where} leads out of the skill's folder", mend="copy the file into it")
        if not path.is_file():
            raise ConfigError(f"{where} is not there", mend="paths are relative to the skill's folder")
        if path.stat().st_size > _MOST_FILE_BYTES:
            raise ConfigError(f"{where} is too large for a prompt", mend=f"at most {_MOST_FILE_BYTES} bytes")
        parts.append(f'\n\n<file name="{name}">\n{rows.read_text(path, where).rstrip()}\n</file>')
    return "".join(parts)
