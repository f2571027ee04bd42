"""The frontmatter of a SKILL.md by the Agent Skills rules."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterator

import yaml

from skillgit.document.skill_rules.finding import Finding, error, warning
from skillgit.document.structure import Structure

MOST_OF_NAME = 64
MOST_OF_DESCRIPTION = 1024
MOST_OF_COMPATIBILITY = 500
FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")

_TEXT = "tag:yaml.org,2002:str"
_NULL = "tag:yaml.org,2002:null"


def check_head(structure: Structure, folder: str | None) -> list[Finding]:
    """What is wrong with a frontmatter whose YAML can be read.

    Args:
        folder: the name of the document's folder, which the skill's name has to be; None where it is not known.
    """
    found = structure.frontmatter
    if found is None or found.close is None:
        return [error(1, "there is no frontmatter: a skill begins with `---`, `name:` and `description:`")]
    text = "\n".join(structure.lines[index] for index in range(1, found.close))
    findings = list(_dashes(structure, found.close))
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    values: dict[str, yaml.Node] = {}
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        line = key.start_mark.line + 2
        name = key.value if isinstance(key, yaml.ScalarNode) else ""
        if name in values:
            findings.append(error(line, f"`{name}` stands twice in the frontmatter"))
        elif name not in FIELDS:
            findings.append(error(line, _unknown(str(name))))
        values.setdefault(name, value)
        findings += _style(line, value)
    for field in ("name", "description"):
        if field not in values:
            findings.append(error(1, f"the frontmatter has no `{field}`"))
    for field, value in values.items():
        findings += _field(field, value, folder)
    return findings


def _dashes(structure: Structure, close: int) -> Iterator[Finding]:
    """The reference library ends the frontmatter at the next `---`, wherever it stands."""
    for index in range(1, close):
        if "---" in structure.lines[index]:
            yield warning(index + 1, "`---` within the frontmatter: the reference library takes it for its end")


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, FIELDS, n=1, cutoff=0.6)
    mend = f"did you mean `{near[0]}`?" if near else "what is your own goes under `metadata`"
    return f"`{name}` is no field of a skill; {mend}"


def _style(line: int, node: yaml.Node) -> Iterator[Finding]:
    """YAML that the reference library refuses, though most loaders read it."""
    if isinstance(node, yaml.CollectionNode) and node.flow_style:
        yield warning(line, "`{…}` and `[…]` in the frontmatter, which the reference library refuses; use lines")


def _field(field: str, node: yaml.Node, folder: str | None) -> Iterator[Finding]:
    line = node.start_mark.line + 2
    if field == "metadata":
        yield from _metadata(line, node)
        return
    if field not in FIELDS:
        return
    if not isinstance(node, yaml.ScalarNode):
        # Lists of tools are read by some agents, and the reference library does not look.
        how = warning if field in ("allowed-tools", "license") else error
        mend = "; write the tools with spaces between them" if field == "allowed-tools" else ""
        yield how(line, f"`{field}` is not a text{mend}")
        return
    text = "" if node.tag == _NULL else node.value
    if field in ("name", "description") and not text.strip():
        yield error(line, f"`{field}` is empty")
        return
    if node.tag not in (_TEXT, _NULL):
        yield warning(line, f"`{field}` is not read as a text; put it in quotes")
    if field == "name":
        yield from _name(line, text, folder)
    elif field == "description" and len(text) > MOST_OF_DESCRIPTION:
        yield error(line, f"`description` has {len(text)} characters, more than {MOST_OF_DESCRIPTION}")
    elif field == "compatibility" and len(text) > MOST_OF_COMPATIBILITY:
        yield error(line, f"`compatibility` has {len(text)} characters, more than {MOST_OF_COMPATIBILITY}")


def _name(line: int, text: str, folder: str | None) -> Iterator[Finding]:
    name = unicodedata.normalize("NFKC", text.strip())
    if len(name) > MOST_OF_NAME:
        yield error(line, f"`name` has {len(name)} characters, more than {MOST_OF_NAME}")
    if name != name.lower() or not all(char.isalnum() or char == "-" for char in name):
        yield error(line, f"the name {name!r} has other characters than lower-case letters, digits and hyphens")
    elif not name.isascii():
        yield warning(line, f"the name {name!r} has letters beyond a-z, which not every loader takes")
    if name.startswith("-") or name.endswith("-") or "--" in name:
        yield error(line, f"the name {name!r} begins or ends with a hyphen, or has two in a row")
    if folder is not None and unicodedata.normalize("NFKC", folder) != name:
        yield error(line, f"the name {name!r} is not that of the skill's folder, {folder!r}")


def _metadata(line: int, node: yaml.Node) -> Iterator[Finding]:
    if not isinstance(node, yaml.MappingNode):
        yield warning(line, "`metadata` is not a mapping of texts to texts")
        return
    for key, value in node.value:
        if not isinstance(value, yaml.ScalarNode):
            yield warning(key.start_mark.line + 2, f"`metadata.{key.value}` is not a text")
