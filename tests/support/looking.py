"""A trained repository for commands that look at its history: made once for a module, copied for a test."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import cli, training
from support.training import DOCUMENT, Yard
from support.truth import share


@contextlib.contextmanager
def history(root: Path) -> Iterator[Yard]:
    """After two runs with acceptances and rejections."""
    with training.trained_once(root, training.mixed(), ["train.num_epochs=1"], []) as made:
        yield made


def copied(made: Yard, root: Path, patch: pytest.MonkeyPatch) -> Yard:
    """A copy to change, with a world of its own: its server goes on answering as the first one does."""
    here = training.copied(made, root, patch)
    here.world = copy.deepcopy(made.world)
    return here


def drop_a_val_task(here: Yard) -> None:
    """From now on val has one task less."""
    here.world.tasks["val"].pop()
    here.world.write_env(here.root / "envs/topics")


def call(here: Yard, *arguments: str) -> str:
    """What a command prints that ends well."""
    done = cli.call(here.root, *arguments)
    assert done.code == 0, done.err
    return done.out


def loaded(here: Yard, *arguments: str) -> Any:
    """The same with `--json`."""
    return json.loads(call(here, *arguments, "--json"))


def refused(here: Yard, *arguments: str, code: int = 2) -> str:
    """The one line of a command that fails."""
    done = cli.call(here.root, *arguments)
    assert (done.code, done.out) == (code, ""), done
    assert "Traceback" not in done.err
    return done.last.removeprefix("skillgit: error: ")


def percent(here: Yard, rev: str, split: str = "val") -> str:
    """The true score of a revision's document, as commands print it."""
    return f"{float(share(here.world, here.text(rev), split)) * 100:.1f}%"


def blob(here: Yard, rev: str) -> str:
    """The document's blob at a revision."""
    return here.git("rev-parse", f"{rev}:{DOCUMENT}")
