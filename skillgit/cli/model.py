"""`skillgit model`: the weights of the embedded model."""

from __future__ import annotations

import click

from skillgit.cli.output import print_json, say
from skillgit.models.base import Json

_DEFAULT = "qwen2.5-coder-0.5b"
_name = click.argument("name", default=_DEFAULT)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("model")
def command() -> None:
    """Fetch and check the weights of the embedded model.

    They lie once per user in the platform's cache folder, or where SKILLGIT_CACHE_DIR says.
    """


@command.command("list")
@_json
def list_models(as_json: bool) -> None:
    """List the known models, and whether their weights are there."""
    from skillgit.models.weights_table import KNOWN

    facts = [_facts(name) for name in KNOWN]
    if as_json:
        print_json(facts)
        return
    for fact in facts:
        there = "ready" if fact["ready"] else "not fetched"
        print(f"local/{fact['name']}  {fact['size'] / 1e6:.0f} MB  {fact['licence']}  {there}  {fact['path']}")


@command.command("pull")
@_name
@click.option("--yes", "-y", is_flag=True, help="Fetch without asking.")
@_json
def pull(name: str, yes: bool, as_json: bool) -> None:
    """Fetch the weights of NAME, unless they are there."""
    from skillgit.models import weights

    path = weights.pull(_bare(name), yes=yes, say=say)
    if as_json:
        print_json(_facts(_bare(name)))
    else:
        print(path)


@command.command("verify")
@_name
@_json
def verify(name: str, as_json: bool) -> None:
    """Hash the weights of NAME and compare."""
    from skillgit.models import weights

    path = weights.verify(_bare(name))
    if as_json:
        print_json(_facts(_bare(name)))
    else:
        print(f"{path}: sha256 {weights.known(_bare(name)).sha256}, as it should be")


@command.command("path")
@_name
@_json
def path(name: str, as_json: bool) -> None:
    """Print where the weights of NAME lie, or will lie."""
    from skillgit.models import weights

    if as_json:
        print_json(_facts(_bare(name)))
    else:
        print(weights.path_of(_bare(name)))


def _bare(name: str) -> str:
    """The name, also where it is written as in skillgit.yaml."""
    return name.removeprefix("local/")


def _facts(name: str) -> dict[str, Json]:
    from skillgit.models import weights

    known = weights.known(name)
    return {
        "name": known.name,
        "path": str(weights.path_of(name)),
        "ready": weights.is_ready(name),
        "size": known.size,
        "sha256": known.sha256,
        "licence": known.licence,
        "repository": known.repository,
    }
