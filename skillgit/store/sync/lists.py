"""The lists of pruned candidates of the two sides of a transfer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from skillgit.errors import RefMovedError
from skillgit.store import remotes
from skillgit.store.pruned import list_ref, pruned_commits, read_list, written
from skillgit.store.repository import Repository
from skillgit.store.sync.sending import receive
from skillgit.store.sync.sides import Commits


@dataclass(slots=True)
class Lists:
    """What ours and the remote's name, by skill: each ref with the commit that it had, or an empty text.

    Args:
        there: the remote's blob by skill. odd: notes on refs there that are no list; they are let alone.
    """

    ours: dict[str, dict[str, str]] = field(default_factory=dict)
    theirs: dict[str, dict[str, str]] = field(default_factory=dict)
    there: dict[str, str] = field(default_factory=dict)
    odd: dict[str, str] = field(default_factory=dict)

    def united(self, name: str) -> frozenset[str]:
        """The refs that either names."""
        return frozenset(self.ours[name]) | frozenset(self.theirs[name])

    def elsewhere(self, name: str, here: Iterable[str]) -> list[str]:
        """Refs that are here, and that only the remote's names."""
        return [ref for ref in here if ref in self.theirs[name] and ref not in self.ours[name]]

    def outgoing(self, repo: Repository, name: str) -> str | None:
        """The blob that the remote's list has to become, which has all that either names; written, but no ref moves.

        Returns: the remote's own where it lacks nothing; None where there is nothing to send, or no list to add to.
        """
        ours, theirs = self.ours[name], self.theirs[name]
        if not ours or name in self.odd:
            return None
        if not ours.keys() - theirs.keys():
            return self.there[name]
        return repo.objects.write_blob(written({**ours, **theirs}))


def read_lists(
    repo: Repository, remote: str, there: Mapping[str, str], skills: Iterable[str], *, push: bool = False
) -> Lists:
    """Read both sides' lists; those of the remote that are not here are got, without a ref.

    Args:
        there: what the remote lists. push: it is the address that pushes go to.

    Raises:
        RepositoryError: ours is damaged. RefusedError: the remote cannot be read.
        RefMovedError: the remote's list changed meanwhile.
    """
    found = Lists({name: pruned_commits(repo, name) for name in skills})
    found.there = {name: oid for name in found.ours if (oid := there.get(list_ref(name))) is not None}
    objects = Commits(repo, found.there.values())
    lacking = [list_ref(name) for name, oid in found.there.items() if not (objects.here(oid) or objects.foreign(oid))]
    if lacking:
        receive(repo, remote, lacking, address=remotes.destination(repo, remote) if push else None)
        objects = Commits(repo, found.there.values())
    for name in found.ours:
        oid = found.there.get(name)
        found.theirs[name] = {}
        if oid is None:
            continue
        if objects.is_blob(oid):
            found.theirs[name] = read_list(repo, name, oid)
        elif objects.here(oid) or objects.foreign(oid):
            found.odd[name] = f"pruned/{name} on {remote} is no list of refs, and was left there"
        else:
            raise RefMovedError(f"{remote} has moved {list_ref(name)} meanwhile", mend="run it again")
    return found
