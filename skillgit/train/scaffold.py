"""`skillgit init`: the files that a repository lacks to train a skill. What exists is never changed."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from skillgit.config import FILE_NAME, SkillSettings, check_name, parse
from skillgit.envs.builtin import PREFIX, resolve_env
from skillgit.errors import ConfigError, UsageError

DEFAULT_MODEL = "local/qwen2.5-coder-0.5b"

CONFIG = """\
# skillgit trains the skills listed here; every key is in skillgit's docs/configuration.md.
version: 1
# provider/model: openai/..., anthropic/..., or local/qwen2.5-coder-0.5b, which needs no key.
models: {{target: {model}, optimizer: {model}}}
skills:
{entry}"""

ENTRY = """\
  {name}:
    document: {document}
    env: {env}
{settings}    merge: {{into: {into}}}
"""

DOCUMENT = """\
---
name: {name}
description: Say in one sentence what this skill is for and when an agent should use it.
---

# {title}

Answer with the result alone.
"""

ENV = """\
version: 1
description: Tasks of the <name> skill.
system: "{skill}"      # what the target is told; {skill} is the document without its frontmatter
prompt: "{input}"      # the user turn
extract: last_line     # whole | last_line | answer_tag | json:<path>
scorer: exact          # exact | f1 | numeric | checks | python:score.py
reveal: answer         # what the optimizer sees of a failed task's truth: answer | reason | nothing
tasks: {train: train.jsonl, val: val.jsonl, test: test.jsonl}
"""

# A few tasks of each split, so that the folder loads; they are there to be replaced.
EXAMPLES: Mapping[str, Sequence[tuple[str, str]]] = {
    "train": (("the opposite of hot", "cold"), ("the opposite of up", "down"), ("the opposite of early", "late")),
    "val": (("the opposite of big", "small"), ("the opposite of wet", "dry")),
    "test": (("the opposite of old", "new"), ("the opposite of open", "closed")),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What to write, path to text, in order; and what to tell."""

    files: dict[str, str]
    notes: tuple[str, ...]


def plan(
    root: Path,
    *,
    name: str | None,
    document: str | None,
    env: str | None,
    into: str,
    documents: Sequence[str],
    settings: Mapping[str, str] | None = None,
    model: str = DEFAULT_MODEL,
) -> Plan:
    """Decide what is missing.

    Args:
        root: the repository's top folder.
        into: the base branch.
        documents: SKILL.md files that the repository has, for guessing `name` and `document`.
        settings: sections of the entry, such as `{"train": "{num_epochs: 2}"}`.

    Raises:
        UsageError: no name was given and none can be guessed.
        ConfigError: a name or environment that is none, or a path that leaves the repository.
    """
    if name is not None and (entry_of := _entry(root / FILE_NAME, name)) is not None:
        document, env = document or entry_of.document, env or entry_of.env
    document, name = _choose(name, document, documents)
    env = env or f"envs/{name}"
    try:
        check_name(name)
    except ValueError as error:
        raise ConfigError(f"--skill: {error}", mend="choose another name") from None
    _check_inside("--document", document)
    _check_inside("--env", env)
    lines = "".join(f"    {section}: {value}\n" for section, value in (settings or {}).items())
    parts = {"name": name, "document": document, "env": env, "into": into}
    entry = ENTRY.format(settings=lines, **{key: _scalar(text) for key, text in parts.items()})
    config = CONFIG.format(model=_scalar(model), entry=entry)
    parse(config, FILE_NAME)  # what could not be read back is refused before anything is written
    files: dict[str, str] = {}
    notes: list[str] = []
    if not (root / FILE_NAME).exists():
        files[FILE_NAME] = config
    elif not _has_entry(root / FILE_NAME, name):
        notes.append(f"{FILE_NAME} exists and is not changed; add under skills:\n{entry}")
    if not (root / document).exists():
        files[document] = _seed(root, name, env)
    if not env.startswith(PREFIX):
        files.update(_environment(root, env, name))
    return Plan(files, tuple(notes))


def write(root: Path, files: Mapping[str, str]) -> None:
    """Write what is missing; a file that appeared meanwhile is left alone.

    Raises:
        UsageError: a folder of the path is a file, or cannot be written.
    """
    for path in files:
        above = [root / folder for folder in PurePosixPath(path).parents]
        if blocking := next((folder for folder in above if folder.exists() and not folder.is_dir()), None):
            raise UsageError(f"{path}: {blocking.name} is a file", mend="move it, or name another path")
    for path, text in files.items():
        target = root / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError), target.open("x", encoding="utf-8", newline="") as file:
                file.write(text)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}", mend="make the place writable") from None


def _entry(path: Path, name: str) -> SkillSettings | None:
    """What a skillgit.yaml that can be read says of a skill: nothing else is missing then."""
    try:
        return parse(path.read_text(encoding="utf-8")).skills.get(name)
    except (OSError, UnicodeDecodeError, ConfigError):
        return None


def _has_entry(path: Path, name: str) -> bool:
    """Whether a skillgit.yaml, readable or not, names the skill."""
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"{FILE_NAME}: {error.strerror}", mend="make it a file that can be read") from None
    return re.search(rf"^\s+[\"']?{re.escape(name)}[\"']?:", text, re.MULTILINE) is not None


def _check_inside(option: str, path: str) -> None:
    pure = PurePosixPath(path)
    if not path.strip() or pure.is_absolute() or ".." in pure.parts:
        raise ConfigError(f"{option}: {path!r} does not lie inside the repository", mend="write a path in it")


def _scalar(text: str) -> str:
    """A text as a YAML scalar: plain where it cannot be read as anything else."""
    plain = re.fullmatch(r"[A-Za-z_][\w./-]*", text, re.ASCII) and text.lower() not in ("true", "false", "null")
    return text if plain else json.dumps(text, ensure_ascii=False)


def _choose(name: str | None, document: str | None, documents: Sequence[str]) -> tuple[str, str]:
    """The document and the skill's name, each from the other where one is missing."""
    if name is None and document is None:
        if len(documents) != 1:
            found = f"several: {', '.join(documents[:5])}" if documents else "none"
            raise UsageError(f"which skill? the repository has {found}", mend="name it with --skill NAME")
        document = documents[0]
    if name is None and document is not None:
        folder = PurePosixPath(document).parent.name
        name = re.sub(r"[^a-z0-9]+", "-", folder.lower()).strip("-") or "skill"
    if document is None:
        same = [d for d in documents if PurePosixPath(d).parent.name == name]
        document = same[0] if len(same) == 1 else f"skills/{name}/SKILL.md"
    return document, str(name)


def _seed(root: Path, name: str, env: str) -> str:
    """A built-in environment brings a seed document; elsewhere a template is written."""
    if env.startswith(PREFIX):
        return (resolve_env(env, root) / "SKILL.md").read_text(encoding="utf-8")
    return DOCUMENT.format(name=_scalar(name), title=name.replace("-", " ").capitalize())


def _environment(root: Path, env: str, name: str) -> dict[str, str]:
    folder = root / env
    if folder.exists():
        return {}
    rows = {
        f"{env}/{split}.jsonl": "".join(
            f'{{"id": "{split}-{number}", "input": "{question}", "answer": "{answer}"}}\n'
            for number, (question, answer) in enumerate(tasks, start=1)
        )
        for split, tasks in EXAMPLES.items()
    }
    return {f"{env}/env.yaml": ENV.replace("<name>", name), **rows}
