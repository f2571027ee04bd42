"""YAML read strictly: where each key stands, no duplicate keys, and errors that name file, line and key.

Plain words mean what YAML 1.2 says (its core schema): `no` is a text and no boolean, `2026-01-02` is no date. Numbers
with a leading zero, which YAML 1.1 reads as octal, are texts as well, so that a setting refuses them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from skillgit.errors import ConfigError

Path = tuple[str | int, ...]
M = TypeVar("M", bound=BaseModel)


_STR = "tag:yaml.org,2002:str"
_NUMBER = r"(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+"
_FLOAT = rf"[-+]?(?:{_NUMBER}|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)"

# What pydantic says of these is Python's, not a person's.
_NO_MAPPING = {"model_type", "dict_type", "model_attributes_type"}
_MENDS = {
    "string_type": "put the value in quotes",
    "bool_type": "write true or false",
    "int_type": "write a whole number",
    "float_type": "write a number",
}


class _Loader(yaml.SafeLoader):
    """SafeLoader with the plain scalars of YAML 1.2."""


_Loader.yaml_implicit_resolvers = {}  # none of YAML 1.1's
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", list("-+0123456789")),
    ("float", _FLOAT, list("-+0123456789.")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)


def _children(node: yaml.Node) -> list[tuple[str | int, yaml.Node, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        return [(str(key.value), key, value) for key, value in node.value]
    if isinstance(node, yaml.SequenceNode):
        return [(index, item, item) for index, item in enumerate(node.value)]
    return []


def _lines(root: yaml.Node, where: str) -> dict[Path, int]:
    """Line numbers (from 1) by path. Aliases are refused: they hide what a setting is, and they can explode."""
    lines: dict[Path, int] = {(): root.start_mark.line + 1}
    seen = {id(root)}
    queue: list[tuple[Path, yaml.Node]] = [((), root)]
    while queue:
        path, node = queue.pop()
        names: set[str | int] = set()
        for name, mark, child in _children(node):
            line = mark.start_mark.line + 1
            if isinstance(node, yaml.MappingNode) and mark.tag != _STR:
                shown = f"the key {name!r}" if isinstance(mark, yaml.ScalarNode) else "a list or a mapping as a key"
                raise ConfigError(f"{where}:{line}: {shown} is not a text", mend="put it in quotes")
            if name in names:
                raise ConfigError(f"{where}:{line}: the key {name!r} stands twice", mend="remove one of them")
            if id(child) in seen:
                raise ConfigError(f"{where}:{line}: a YAML alias", mend="write the value out")
            names.add(name)
            seen.add(id(child))
            lines[(*path, name)] = line
            queue.append(((*path, name), child))
    return lines


def load(text: str, where: str | PurePath) -> tuple[Any, dict[Path, int]]:
    """Parse one YAML document.

    Returns: the plain value and the line of each path in it.

    Raises:
        ConfigError: it does not parse, has a duplicate key or an alias.
    """
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None, {(): 1}
            lines = _lines(node, str(where))
            return loader.construct_document(node), lines
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{where}:{line}: not valid YAML: {error.problem}", mend="mend the line") from None
    except (yaml.YAMLError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise ConfigError(f"{where}: not valid YAML: {first}", mend="mend the file") from None
    except RecursionError:
        raise ConfigError(f"{where}: nested too deeply", mend="mend the file") from None


def nearest(word: str, known: list[str]) -> str | None:
    """The known word that `word` was most likely meant to be."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return close[0] if close else None


def _line(lines: dict[Path, int], path: Path) -> int:
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def _known_keys(model: type[BaseModel], path: Path) -> list[str]:
    """Field names of the model that sits at `path` below `model`, as far as annotations tell."""
    here: Any = model
    for part in path:
        fields = getattr(here, "model_fields", None)
        if fields is not None and part in fields:
            here = fields[str(part)].annotation
        candidates = [here, *getattr(here, "__args__", ())]
        models = [c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)]
        if models:
            here = models[0]
    return [f.alias or name for name, f in here.model_fields.items()] if hasattr(here, "model_fields") else []


def validate(model: type[M], value: Any, where: str | PurePath, lines: dict[Path, int] | None) -> M:
    """Check a loaded value against a pydantic model; the first problem becomes one line.

    Args:
        lines: as `load` gives them; None for a value that has no lines.

    Raises:
        ConfigError: names file, line, key, and for an unknown key the nearest known one.
    """
    known = _paths(value) if lines is None else lines
    try:
        return model.model_validate(value)
    except ValidationError as error:
        # A misspelt key is both unknown and missing: the unknown one names what was meant.
        problem = min(error.errors(), key=lambda e: (e["type"] == "missing", _line(known, _yaml_path(e["loc"], known))))
    path = _yaml_path(problem["loc"], known)
    place = str(where) if lines is None else f"{where}:{_line(known, path)}"
    raise _refusal(model, place, path, problem["type"], problem["msg"])


def _refusal(model: type[BaseModel], place: str, path: Path, kind: str, said: str) -> ConfigError:
    """One problem that pydantic found, in our words."""
    dotted = ".".join(map(str, path)) or "the file"
    if kind == "extra_forbidden":
        known = _known_keys(model, path[:-1])
        meant = nearest(str(path[-1]), known)
        mend = f"did you mean {meant!r}?" if meant else f"known keys: {', '.join(sorted(known))}"
        return ConfigError(f"{place}: unknown key {dotted!r}", mend=mend)
    if kind == "missing":
        return ConfigError(f"{place}: {dotted!r} is missing", mend="add it")
    if kind in _NO_MAPPING:
        return ConfigError(f"{place}: {dotted}: not a mapping", mend="write keys below it, or remove the line")
    message = said.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    message = message[:1].lower() + message[1:]
    # Our own validators may say the mend after a semicolon.
    why, _, mend = message.rpartition("; ") if kind == "value_error" else ("", "", "")
    at = place if place.startswith("--set ") and not path else f"{place}: {dotted}"
    return ConfigError(f"{at}: {why or message}", mend=mend if why else _MENDS.get(kind, "correct the value"))


def _paths(value: Any, path: Path = ()) -> dict[Path, int]:
    """The paths of a value that was not read from a file."""
    found = {path: 1}
    if isinstance(value, Mapping):
        for key, inner in value.items():
            found.update(_paths(inner, (*path, key)))
    return found


def _yaml_path(loc: tuple[str | int, ...], lines: dict[Path, int]) -> Path:
    """pydantic's location without the names of union members, which are no keys of the file."""
    path: Path = ()
    for index, part in enumerate(loc):
        last = index == len(loc) - 1
        if (*path, part) in lines or (last and not _is_union_tag(part)):
            path = (*path, part)
    return path


def _is_union_tag(part: str | int) -> bool:
    return isinstance(part, str) and (part in {"str", "int", "float", "bool"} or part[:1].isupper() or "[" in part)
