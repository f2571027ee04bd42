"""Bring an earlier document back, by a commit on top: the branch is never rewound."""

from __future__ import annotations

import re

from skillgit.errors import UsageError
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive import documents
from skillgit.train.archive.journal import StepRecord
from skillgit.train.carry.change import outcome
from skillgit.train.carry.ungated import Shelf, put
from skillgit.train.propose.candidate import Candidate


def resolve(repo: Repository, name: str, rev: str) -> str:
    """The commit of a revision; `v3` is the skill's own release tag.

    Raises:
        UsageError: there is none.
    """
    tag = SkillRefs(name).release_tag(int(rev[1:])) if re.fullmatch(r"v[1-9]\d{0,8}", rev) else rev
    commit = repo.resolve(tag) or repo.resolve(rev)
    if commit is None:
        raise UsageError(
            f"--to {rev}: no such revision", mend=f"see `skillgit log {name}`, `git tag -l 'skill/{name}/*'`"
        )
    return commit


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
