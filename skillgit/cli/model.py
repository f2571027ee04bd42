"""`skillgit model`: the weights of the embedded model."""

from __future__ import annotations

import click


@click.group("model")
def command() -> None:
    """Fetch and check the weights of the embedded model."""
