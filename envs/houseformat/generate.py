"""Writes the tasks of the houseformat environment: short questions, answered in a house format.

The house wants the bare answer: one word or number, in small letters, without a sentence around it and without a full
stop. That is one rule. A document that states it helps at once; worked examples hardly do, since a model that is asked
a question goes on answering in sentences. (The seed document does not state it, and no prompt of ours does.)

Run `python generate.py --seed N --out DIR` for fresh splits. The same seed gives the same bytes with any Python:
only `random.Random(str).random()` is used, the one sequence that Python promises to keep.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

SIZES = {"train": 40, "val": 40, "test": 80}

CAPITALS = {
    "Austria": "Vienna", "Belgium": "Brussels", "China": "Beijing", "Cuba": "Havana", "Denmark": "Copenhagen",
    "Egypt": "Cairo", "England": "London", "Finland": "Helsinki", "France": "Paris", "Germany": "Berlin",
    "Greece": "Athens", "Hungary": "Budapest", "Iran": "Tehran", "Iraq": "Baghdad", "Ireland": "Dublin",
    "Italy": "Rome", "Japan": "Tokyo", "Kenya": "Nairobi", "Norway": "Oslo", "Peru": "Lima", "Poland": "Warsaw",
    "Portugal": "Lisbon", "Russia": "Moscow", "South Korea": "Seoul", "Spain": "Madrid", "Sweden": "Stockholm",
    "Thailand": "Bangkok", "Ukraine": "Kyiv",
}  # fmt: skip
OPPOSITES = {
    "big": "small", "black": "white", "cheap": "expensive", "clean": "dirty", "dark": "light", "early": "late",
    "empty": "full", "far": "near", "fast": "slow", "first": "last", "happy": "sad", "hard": "soft", "heavy": "light",
    "high": "low", "hot": "cold", "inside": "outside", "left": "right", "long": "short", "loud": "quiet",
    "new": "old", "open": "closed", "rich": "poor", "strong": "weak", "sweet": "sour", "tall": "short",
    "thick": "thin", "true": "false", "up": "down", "wet": "dry", "young": "old",
}  # fmt: skip
PLURALS = {
    "apple": "apples", "baby": "babies", "book": "books", "box": "boxes", "bus": "buses", "child": "children",
    "city": "cities", "dog": "dogs", "foot": "feet", "goose": "geese", "house": "houses", "key": "keys",
    "knife": "knives", "lady": "ladies", "leaf": "leaves", "man": "men", "mouse": "mice", "potato": "potatoes",
    "story": "stories", "table": "tables", "tooth": "teeth", "tree": "trees", "wife": "wives", "wolf": "wolves",
    "woman": "women",
}  # fmt: skip


def questions() -> list[tuple[str, str]]:
    """Every question with its answer in the house format, in a fixed order."""
    found = [(f"What is the capital of {land}?", city) for land, city in CAPITALS.items()]
    found += [(f"What is the opposite of {word}?", other) for word, other in OPPOSITES.items()]
    found += [(f"What is the plural of {word}?", many) for word, many in PLURALS.items()]
    found += [(f"What is {a} plus {b}?", str(a + b)) for a in range(2, 12) for b in range(2, a + 1)]
    found += [(f"What is {a} minus {b}?", str(a - b)) for a in range(5, 13) for b in range(2, a - 1)]
    return [(question, answer.lower()) for question, answer in found]


def _mixed(rng: random.Random, items: Sequence[T]) -> list[T]:
    marks = [(rng.random(), index) for index in range(len(items))]
    return [items[index] for _, index in sorted(marks)]


def generate(seed: int) -> dict[str, list[dict[str, str]]]:
    """The three splits. No question occurs twice, in one split or over all."""
    pool = iter(_mixed(random.Random(f"houseformat {seed}"), questions()))
    splits: dict[str, list[dict[str, str]]] = {}
    for split, size in SIZES.items():
        rows = []
        for number in range(1, size + 1):
            question, answer = next(pool)
            rows.append({"id": f"{split}-{number:03d}", "input": question, "answer": answer})
        splits[split] = rows
    return splits


def write(seed: int, out: Path) -> None:
    """Write `train.jsonl`, `val.jsonl` and `test.jsonl` into a folder that is made if needed."""
    out.mkdir(parents=True, exist_ok=True)
    for split, rows in generate(seed).items():
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (out / f"{split}.jsonl").write_text(lines, encoding="utf-8", newline="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write fresh houseformat splits.")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    write(arguments.seed, arguments.out)


if __name__ == "__main__":
    main()
