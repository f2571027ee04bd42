"""YAML read strictly: where each key stands, no duplicate keys, and errors that name file, line and key."""

from __future__ import annotations

import difflib
from pathlib import PurePath
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from skillgit.errors import ConfigError

Path = tuple[str | int, ...]
M = TypeVar("M", bound=BaseModel)


class _Loader(yaml.SafeLoader):
    """SafeLoader that refuses duplicate keys and remembers the line of every key and item."""


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


def validate(model: type[M], value: Any, where: str | PurePath, lines: dict[Path, int]) -> M:
    """Check a loaded value against a pydantic model; the first problem becomes one line.

    Raises:
        ConfigError: names file, line, key, and for an unknown key the nearest known one.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problem = min(error.errors(), key=lambda e: _line(lines, _yaml_path(e["loc"], lines)))
        path = _yaml_path(problem["loc"], lines)
        line, dotted = _line(lines, path), ".".join(map(str, path)) or "the file"
        if problem["type"] == "extra_forbidden":
            known = _known_keys(model, path[:-1])
            meant = nearest(str(path[-1]), known)
            mend = f"did you mean {meant!r}?" if meant else f"known keys: {', '.join(sorted(known))}"
            raise ConfigError(f"{where}:{line}: unknown key {dotted!r}", mend=mend) from None
        if problem["type"] == "missing":
            raise ConfigError(f"{where}:{line}: {dotted!r} is missing", mend="add it") from None
        message = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
        message = message[:1].lower() + message[1:]
        raise ConfigError(f"{where}:{line}: {dotted}: {message}", mend="correct the value") from None


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
