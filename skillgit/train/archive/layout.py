"""What the commits of journals and of evidence are called and hold; reading a journal's entry.

Apart from `record`, which writes them, so that commands that only look load nothing of the loop.
"""

from __future__ import annotations

from skillgit.store.repository import Repository
from skillgit.train.archive.journal import Journal, from_files

SUBJECT = "skillgit journal: "
PATTERNS = "patterns.jsonl"
"""The evidence file with what a step's failures had in common."""
META = "meta.jsonl"
"""The evidence file with the meta memory."""
OPTIMIZER = "optimizer.jsonl"
"""The evidence file with the optimizer's calls."""


def read_journal(repo: Repository, commit: str) -> Journal:
    """A journal commit.

    Raises:
        RefusedError: it is not readable.
    """
    entries = repo.objects.list_files(commit)
    return from_files(commit, {path: repo.objects.read_blob(entry.oid) for path, entry in entries.items()})
