"""Deterministic checks as an environment writes them: read strictly, so that a check which cannot work is never run."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

from skillgit.envs.normalize import fold, normalize_text
from skillgit.envs.sections import heading_text
from skillgit.errors import ConfigError
from skillgit.models.base import Json
from skillgit.strictyaml import nearest

Op = Literal[
    "exact",
    "contains",
    "not_contains",
    "regex",
    "section_present",
    "section_contains",
    "min_chars",
    "max_chars",
    "no_refusal",
    "tool_called",
]
OPS: tuple[Op, ...] = get_args(Op)
Normalize = Literal["text", "none"]

# Keys beside `op`, `arg` and `name`.
_OPTIONS: dict[Op, frozenset[str]] = {
    "exact": frozenset({"normalize"}),
    "contains": frozenset({"ignore_case"}),
    "not_contains": frozenset({"ignore_case"}),
    "section_contains": frozenset({"text", "ignore_case"}),
}
_COUNTS: frozenset[Op] = frozenset({"min_chars", "max_chars"})


@dataclass(frozen=True, slots=True)
class Check:
    """One check, sound as far as can be told without a reply.

    Args:
        op: what is done.
        args: what the reply is held against: one text, for `exact` all accepted ones, for `no_refusal` none.
        count: characters, for `min_chars` and `max_chars`.
        name: what a failure is called towards the optimizer; empty: the op.
        normalize: for `exact`: SQuAD's rule, or nothing but outer white space.
        ignore_case: for texts that are looked for: also typographic variants and white space are let pass.
        text: for `section_contains`: what the section must say; empty: anything.
    """

    op: Op
    args: tuple[str, ...] = ()
    count: int = 0
    name: str = ""
    normalize: Normalize = "text"
    ignore_case: bool = True
    text: str = ""


def load_checks(raw: Json, where: str) -> tuple[Check, ...]:
    """Read a list of checks.

    Args:
        raw: a list of objects `{op, arg, …}`, from YAML or JSON.
        where: file and line or key, for messages.

    Raises:
        ConfigError: no checks at all, an unknown op or key, a missing or unfit argument, a pattern that does not
            compile, an argument that normalises to nothing and so could not tell replies apart.
    """
    if not isinstance(raw, list | tuple):
        raise ConfigError(f"{where}: checks are not a list", mend="write a list of {op, arg}")
    if not raw:
        raise ConfigError(f"{where}: there are no checks", mend="add at least one, since nothing would pass or fail")
    return tuple(_load(item, f"{where}: check {number}") for number, item in enumerate(raw, 1))


def _load(item: Json, where: str) -> Check:
    if not isinstance(item, Mapping):
        raise ConfigError(f"{where} is not an object", mend="write it as {op: contains, arg: text}")
    op = _op(item.get("op"), where)
    _known_keys(item, op, where)
    where = f"{where} ({op})"
    if op == "no_refusal":
        return Check(op, name=_name(item, where))
    if "arg" not in item:
        raise ConfigError(f"{where}: 'arg' is missing", mend="add it")
    if op in _COUNTS:
        return Check(op, count=_count(item["arg"], where), name=_name(item, where))
    many = op == "exact" and isinstance(item["arg"], list)
    args = tuple(_text(arg, f"{where}: 'arg'") for arg in (item["arg"] if many else [item["arg"]]))
    check = Check(
        op,
        args,
        name=_name(item, where),
        normalize=_normalize(item.get("normalize", "text"), where),
        ignore_case=_flag(item.get("ignore_case", True), f"{where}: 'ignore_case'"),
        text=_text(item["text"], f"{where}: 'text'") if "text" in item else "",
    )
    _can_work(check, where)
    return check


def _op(op: Json, where: str) -> Op:
    if op is None:
        raise ConfigError(f"{where} has no 'op'", mend=f"one of: {', '.join(OPS)}")
    if op not in OPS:
        meant = nearest(op, list(OPS)) if isinstance(op, str) else None
        mend = f"did you mean {meant!r}?" if meant else f"one of: {', '.join(OPS)}"
        raise ConfigError(f"{where}: unknown op {op!r}", mend=mend)
    return cast(Op, op)


def _known_keys(item: Mapping[str, Json], op: Op, where: str) -> None:
    known = {"op", "name", *_OPTIONS.get(op, ())} | ({"arg"} if op != "no_refusal" else set())
    for key in item:
        if key not in known:
            meant = nearest(str(key), sorted(known))
            mend = f"did you mean {meant!r}?" if meant else f"known keys: {', '.join(sorted(known))}"
            raise ConfigError(f"{where} ({op}): unknown key {key!r}", mend=mend)


def _text(value: Json, where: str) -> str:
    """A text; a whole number is taken as it is written, other values would not read back as they were written."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise ConfigError(f"{where} is {value!r}, not text", mend="put it in quotes")
    if not value.strip():
        raise ConfigError(f"{where} is empty", mend="say what to look for")
    return value


def _name(item: Mapping[str, Json], where: str) -> str:
    return _text(item["name"], f"{where}: 'name'") if "name" in item else ""


def _count(value: Json, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"{where}: 'arg' is {value!r}", mend="give a number of characters, at least 1")
    return value


def _normalize(value: Json, where: str) -> Normalize:
    if value not in ("text", "none"):
        raise ConfigError(f"{where}: 'normalize' is {value!r}", mend="write text or none")
    return cast(Normalize, value)


def _flag(value: Json, where: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{where} is {value!r}", mend="write true or false")
    return value


def _can_work(check: Check, where: str) -> None:
    """Refuse arguments with which every reply would pass, or none."""
    if not check.args:
        raise ConfigError(f"{where}: 'arg' has no answers", mend="add one")
    for arg in check.args:
        if check.op == "regex":
            _compile(arg, where)
        elif check.op == "exact" and check.normalize == "text" and not normalize_text(arg):
            mend = "write normalize: none, or another answer"
            raise ConfigError(f"{where}: {arg!r} normalises to nothing", mend=mend)
        elif check.op in {"section_present", "section_contains"} and not heading_text(arg):
            raise ConfigError(f"{where}: {arg!r} is no heading", mend="write the heading's words")
        elif check.ignore_case and not (fold(arg) and (not check.text or fold(check.text))):
            raise ConfigError(f"{where}: the text looked for is invisible", mend="write what can be seen")


def _compile(pattern: str, where: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of future syntax; the pattern works as Python reads it today
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigError(f"{where}: the pattern {pattern!r} does not compile: {error}", mend="correct it") from None
