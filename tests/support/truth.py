"""What the world's rule says of a document, reckoned without skillgit."""

from __future__ import annotations

from fractions import Fraction

from support.world import TopicWorld


def passed(world: TopicWorld, document: str, split: str = "val") -> dict[str, int]:
    """Task id to 1 where the document answers it, else 0."""
    rows = world.tasks[split]
    return {row["id"]: int(world.target(document, row["input"]) == row["answer"]) for row in rows}


def share(world: TopicWorld, document: str, split: str = "val") -> Fraction:
    """The share of tasks that a document answers."""
    found = passed(world, document, split)
    return Fraction(sum(found.values()), len(found))
