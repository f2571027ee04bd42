"""What a whole document has to keep to, whoever wrote it: its length budget, and words that say something."""

from __future__ import annotations

from dataclasses import dataclass

from skillgit.config import SkillSettings
from skillgit.document.density import added, thin
from skillgit.document.length import limit, over
from skillgit.train.propose.prompts import count


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules for what comes of one document.

    Args:
        before: the document that the new one comes from.
        start_length: tokens of the document that the run began with.
    """

    settings: SkillSettings
    before: str
    start_length: int

    def __call__(self, document: str) -> str | None:
        """Why a document is not taken, as one clause; None where it is fine."""
        least = self.settings.evaluation.semantic_density
        return self.too_long(document) or thin(added(self.before, document), least)

    def too_long(self, document: str) -> str | None:
        """Why its length is not allowed, as one clause."""
        chosen = self.settings.optimizer
        return over(document, self.start_length, chosen.max_tokens, chosen.max_growth, before=self.before)

    @property
    def most_tokens(self) -> int | None:
        """Of the body; None where there is no budget."""
        chosen = self.settings.optimizer
        return limit(self.start_length, chosen.max_tokens, chosen.max_growth)

    @property
    def said(self) -> str:
        """For a prompt: what who writes the document has to know; empty where there is no budget."""
        most = self.most_tokens
        return "" if most is None else f"The new document has at most {count(4 * most, 'character')}."
