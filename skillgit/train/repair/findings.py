"""What is found wrong, and what would mend it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skillgit.store.transactions import RefUpdate


@dataclass(frozen=True, slots=True)
class Finding:
    """One check of `skillgit doctor`.

    Args:
        what: what was looked at, such as `refs` or `topics: best`.
        detail: what was found, where all is well.
        problem: what is wrong, with the mend; None where all is well.
        exit_code: what the problem would end a run with; 0 for one that only has to be said.
        repaired: what was done about it; None where nothing was.
    """

    what: str
    detail: str
    problem: str | None = None
    exit_code: int = 0
    repaired: str | None = None

    @property
    def ok(self) -> bool:
        """Nothing is wrong, or not any more, or it only has to be said."""
        return self.problem is None or self.repaired is not None or self.exit_code == 0


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is wrong with a skill's history.

    Args:
        what: `branch`, `best`, `rejected`, `tags`, `journals`, `scores`, `names`.
        said: what is wrong.
        mend: what a person can do; where `update` is given, what became of the ref, as `set to …`.
        update: the ref that the repair moves; None where it moves nothing.
        only_said: nothing is lost or wrong by it.
    """

    what: str
    said: str
    mend: str
    update: RefUpdate | None = None
    only_said: bool = False

    def finding(self, name: str, *, repaired: bool) -> Finding:
        """As the command shows it."""
        mend = f"with `skillgit doctor --repair {name}` it is {self.mend}" if self.update is not None else self.mend
        found = Finding(f"{name}: {self.what}", "", f"{self.said}; {mend}", 0 if self.only_said else 2)
        return replace(found, repaired=f"{self.said}: {self.mend}") if repaired and self.update is not None else found
