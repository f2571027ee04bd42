"""Bring an earlier document back, by a commit on top: the branch is never rewound."""

from __future__ import annotations

from skillgit.train.archive import documents
from skillgit.train.archive.journal import StepRecord
from skillgit.train.carry.change import outcome
from skillgit.train.carry.ungated import Shelf, put
from skillgit.train.propose.candidate import Candidate


def roll_back(shelf: Shelf, commit: str, rev: str, why: str = "") -> StepRecord:
    """Make the document of a commit the tip's, and the best one.

    Raises:
        RefusedError: the tip has it already. DocumentError: there is no usable document.
    """
    path = shelf.last.info.document
    text = documents.read_editable(shelf.repo, commit, path).text
    told = f"Brings back the document of {commit}."
    found = outcome("rollback", rev[:12] if commit.startswith(rev) else rev, f"{why}\n\n{told}" if why else told, text)
    reason = f"a person went back to the document of {commit[:12]}"
    return put(shelf, "revert", Candidate(text, (found,)), reason)
