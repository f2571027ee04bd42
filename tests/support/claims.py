"""Every claim that skillgit makes about a document's score, held against what the model server was asked, and against
the world's own rule."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from support import cli, repos, training
from support.server import Server
from support.training import DOCUMENT, SKILL
from support.truth import share
from support.world import TopicWorld


@dataclass
class Court:
    """Judges claims about the documents of one repository.

    Args:
        scores: how many scores were shown, so that a test sees that there were any.
    """

    root: Path
    world: TopicWorld
    server: Server
    scores: int = 0
    _seen: int = 0
    _asked: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def text(self, blob: str) -> str:
        """A document by its blob."""
        return repos.git(self.root, "cat-file", "blob", blob) + "\n"

    def measured(self, blob: str) -> bool:
        """Whether the target was asked every val task with this document."""
        calls = self.server.calls
        for call in calls[self._seen :]:
            self._asked[call.system.strip()].add(call.user)
        self._seen = len(calls)
        body = self.text(blob).split("\n---\n", 1)[1].strip()
        return {row["input"] for row in self.world.tasks["val"]} <= self._asked[body]

    def true(self, blob: str) -> float:
        """Its score on val, by the world's rule."""
        return round(float(share(self.world, self.text(blob))), 6)

    def claim(self, blob: str | None, score: float | None, where: object) -> None:
        """A score that was shown of a document."""
        if score is None:
            return
        assert blob is not None, where
        assert self.measured(blob), f"never measured, and shown with {score}: {where}"
        assert score == self.true(blob), where
        self.scores += 1

    def json(self, *arguments: str) -> Any:
        """What a verb prints; None where it refuses in one line."""
        done = cli.call(self.root, *arguments, "--json")
        assert done.code in (0, 2), done
        assert "Traceback" not in done.err
        return json.loads(done.out) if done.code == 0 else None

    def judge(self, revs: Sequence[str], *, honest: bool = True) -> None:
        """Ask every verb that shows scores, about the skill and about some revisions.

        Args:
            honest: whether nobody wrote trailers by hand, which are then looked at too.
        """
        for status in self.json("status", SKILL):
            best = status["best"]
            self.claim(blob_at(self.root, best) if best else None, status["best_score"], status)
        for row in self.json("log", SKILL):
            self._row(row)
        for rev in revs:
            self.show(rev)
            self.blame(rev)
        for one, other in pairwise(revs):
            self.diff(one, other)
        for row in self.json("compare", SKILL, *(f"{SKILL}@{rev}" for rev in revs)) or ():
            for cell in filter(None, (row["val"],)):
                assert cell["document"] == row["document"]
                self.claim(row["document"], cell["score"], row)
        if honest:
            self.messages()

    def _row(self, row: dict[str, Any]) -> None:
        for one in (row, *row.get("others", ())):
            self.claim(one["document"], one["score"], one)
            if one["score_max"] is not None:
                assert self.true(one["document"]) <= one["score_max"], one

    def show(self, rev: str) -> None:
        """One decision: what it says of the commit's own document, and the verdict on the step's."""
        found = self.json("show", SKILL, rev)
        if found is None:
            return
        assert found["document"] == blob_at(self.root, rev)
        measured, verdict = found["measured"], found["verdict"]
        if measured is not None:
            self.claim(found["document"], measured["score"], (rev, found))
            if measured["score_max"] is not None:
                assert self.true(found["document"]) <= measured["score_max"], (rev, found)
        if verdict is not None:
            self.claim(verdict["document"], verdict["score"], (rev, found))

    def blame(self, rev: str) -> None:
        """Only commits that the journal lists have a score: that of the candidate which they ended in."""
        found = self.json("blame", SKILL, rev)
        if found is None:
            return
        listed = {
            commit: record
            for run in training.journals(self.root)
            for step in run
            for record in ({"commits": step.commits, "document": step.document}, *step.others)
            for commit in record["commits"]
        }
        for commit, origin in found["commits"].items():
            if origin["score"] is None and origin["delta"] is None:
                continue
            assert commit in listed, origin
            self.claim(listed[commit]["document"], origin["score"], origin)

    def diff(self, one: str, other: str) -> None:
        """Both sides' scores."""
        found = self.json("diff", SKILL, one, other)
        for side in () if found is None else (found["a"], found["b"]):
            if side["known"] is not None:
                assert side["document"] == side["known"]["document"]
                self.claim(side["document"], side["known"]["score"], side)

    def messages(self) -> None:
        """Trailers that count by the rule (the tree has the blob) are true, in commits and in tags."""
        for commit, trailers in self._claims():
            if trailers.get("Skill-Blob") == blob_at(self.root, commit) and "Skill-Score" in trailers:
                self.claim(trailers["Skill-Blob"], float(trailers["Skill-Score"]), (commit, trailers))

    def _claims(self) -> Iterator[tuple[str, dict[str, str]]]:
        asked = "%H%x00%(trailers:only,unfold)%x00"
        parts = repos.git(self.root, "log", "--all", f"--format={asked}").split("\0")
        for commit, text in zip(parts[::2], parts[1::2], strict=False):
            yield commit.strip(), parsed(text)
        tags = "%(refname)%00%(contents:trailers:only,unfold)%00"
        parts = repos.git(self.root, "for-each-ref", f"--format={tags}", "refs/tags").split("\0")
        for tag, text in zip(parts[::2], parts[1::2], strict=False):
            yield f"{tag.strip()}^{{commit}}", parsed(text)


def parsed(text: str) -> dict[str, str]:
    """Trailers as git printed them."""
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)


def blob_at(root: Path, rev: str) -> str | None:
    """The document's blob in a commit."""
    return repos.git(root, "rev-parse", "--verify", "--quiet", f"{rev}:{DOCUMENT}", check=False) or None
