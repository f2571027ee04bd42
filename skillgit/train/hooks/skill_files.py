"""Documents on the disk, checked by the rules for skills."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skillgit.document.skill_rules import Finding, check_skill
from skillgit.errors import UsageError
from skillgit.train.project import Project

NAME = "skill.md"


@dataclass(frozen=True, slots=True)
class Checked:
    """A document and what is wrong with it. `path` is as the person named it, or as the configuration does."""

    path: str
    findings: list[Finding]


def check_configured(project: Project) -> list[Checked]:
    """The documents of a project's skills, as they are in its work tree (in a bare repository: on HEAD)."""
    names = sorted({settings.document for settings in project.config.skills.values()})
    return [_checked(project.root / name, name, project.root) for name in names]


def check_paths(paths: Sequence[str]) -> list[Checked]:
    """Files, the SKILL.md of folders, and of folders without one all SKILL.md below.

    Raises:
        UsageError: there is no such file, or none in a folder.
    """
    return [_checked(path, str(path), None) for name in paths for path in _files(Path(name))]


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    found = [each for each in sorted(path.iterdir()) if each.name.lower() == NAME]
    if not found:
        below = sorted(each for each in path.rglob("*") if each.name.lower() == NAME)
        found = [each for each in below if not any(part.startswith(".") for part in each.relative_to(path).parts)]
    if not found:
        raise UsageError(f"{path}: there is no SKILL.md in this folder", mend="name a document, or a skill's folder")
    yield from found


def _checked(path: Path, shown: str, top: Path | None) -> Checked:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{shown}: {error.strerror}", mend="name a document that can be read") from None
    folder = path.resolve().parent

    def look(relative: str) -> Literal["here", "missing", "outside"]:
        target = folder / relative
        try:
            target.stat()
        except (OSError, ValueError):  # a link may say anything: a name that is too long, has a NUL, leads to itself
            return "missing"
        return "here" if target.resolve().is_relative_to(folder) else "outside"

    # A clone's own folder may have any name.
    named = folder != (top.resolve() if top is not None else None) and not (folder / ".git").exists()
    skill = path.name.lower() == NAME
    return Checked(shown, check_skill(data, look, skill=skill, folder=folder.name if named else None))
