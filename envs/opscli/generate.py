"""Writes the tasks of the opscli environment: requests in plain English and the `ops` command each one means.

The command line is invented, so no model can know it; it can only be learned from this environment's answers:

    ops <verb> <service> @<place> +<option>

Run `python generate.py --seed N --out DIR` for fresh splits. The same seed gives the same bytes with any Python:
only `random.Random(str).random()` is used, the one sequence that Python promises to keep.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

SIZES = {"train": 40, "val": 40, "test": 80}
NEW_SHARE = {"val": 0.5, "test": 0.55}
"""The share of tasks whose verb and option never stand together in a train task."""

# What the command line calls a thing, and how people ask for it. The first wording is the common one.
VERBS = {
    "restart": ("restart", "please restart"),
    "stop": ("stop", "please stop"),
    "deploy": ("deploy", "please deploy"),
    "backup": ("back up", "please back up"),
    "check": ("check", "please check"),
}
PLACES = {"stg": "on staging", "prd": "in production", "tst": "on testing"}
OPTIONS = {
    "dry": ("as a dry run", "just as a dry run"),
    "wait": ("and wait for the end", "and wait until it is done"),
    "bell": ("and tell the team", "and tell everyone"),
    "force": ("by force", "with force"),
    "log": ("and log it", "and write a log"),
}
SERVICES = (
    "billing", "catalog", "checkout", "gateway", "invoices", "login",
    "mailer", "ratings", "reports", "search", "shipping", "uploads",
)  # fmt: skip

Combination = tuple[str, str]
"""A verb and an option of the command line."""


def _mixed(rng: random.Random, items: Sequence[T]) -> list[T]:
    marks = [(rng.random(), index) for index in range(len(items))]
    return [items[index] for _, index in sorted(marks)]


def _pick(rng: random.Random, items: Sequence[T]) -> T:
    return items[int(rng.random() * len(items))]


def _endless(rng: random.Random, items: Sequence[T]) -> Iterator[T]:
    """The items in a new order every round, so that each is about as frequent as the others."""
    while True:
        yield from _mixed(rng, items)


def combinations(rng: random.Random) -> tuple[list[Combination], list[Combination]]:
    """Which verb and option stand together in train, and which only elsewhere.

    A rotated table: train has each verb with three of the five options and each option with three of the five verbs,
    so all parts can be learned, and ten combinations remain that only generalisation reaches.
    """
    verbs, options = _mixed(rng, list(VERBS)), _mixed(rng, list(OPTIONS))
    known: list[Combination] = []
    new: list[Combination] = []
    for row, verb in enumerate(verbs):
        for step in range(len(options)):
            (known if step < 3 else new).append((verb, options[(row + step) % len(options)]))
    return known, new


def _words(rng: random.Random, wordings: Sequence[str]) -> str:
    """Two times out of three the common wording."""
    return wordings[0] if rng.random() < 2 / 3 else _pick(rng, wordings)


def _task(rng: random.Random, combination: Combination, place: str) -> tuple[str, str]:
    """One request and its command."""
    verb, option = combination
    service = _pick(rng, SERVICES)
    request = f"{_words(rng, VERBS[verb])} {service} {PLACES[place]} {_words(rng, OPTIONS[option])}"
    return request, f"ops {verb} {service} @{place} +{option}"


def generate(seed: int) -> dict[str, list[dict[str, str]]]:
    """The three splits. No request and no command occurs twice, in one split or over all."""
    rng = random.Random(f"opscli {seed}")
    known, new = combinations(rng)
    seen: set[str] = set()
    splits: dict[str, list[dict[str, str]]] = {}
    for split, size in SIZES.items():
        new_tasks = round(size * NEW_SHARE.get(split, 0))
        kinds = _mixed(rng, ["new"] * new_tasks + ["known"] * (size - new_tasks))
        supply = {"known": _endless(rng, known), "new": _endless(rng, new)}
        places = _endless(rng, list(PLACES))
        rows: list[dict[str, str]] = []
        for number, kind in enumerate(kinds, start=1):
            combination, place = next(supply[kind]), next(places)
            request, command = _task(rng, combination, place)
            while command in seen:
                request, command = _task(rng, combination, place)
            seen.add(command)
            rows.append({"id": f"{split}-{number:03d}", "input": request, "answer": command})
        splits[split] = rows
    return splits


def write(seed: int, out: Path) -> None:
    """Write `train.jsonl`, `val.jsonl` and `test.jsonl` into a folder that is made if needed."""
    out.mkdir(parents=True, exist_ok=True)
    for split, rows in generate(seed).items():
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (out / f"{split}.jsonl").write_text(lines, encoding="utf-8", newline="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write fresh opscli splits.")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    write(arguments.seed, arguments.out)


if __name__ == "__main__":
    main()
