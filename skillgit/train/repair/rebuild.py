"""What branch, best, rejected refs and tags have to be by the journals, and what would bring them there.

Nothing is moved here, and no plan loses anything: a branch only goes forward, and a ref that points to what nothing
else keeps is left alone and said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from skillgit.errors import RefusedError, RepositoryError
from skillgit.store.commits import peeled
from skillgit.store.pruned import pruned
from skillgit.store.refs import HEADS, SkillRefs
from skillgit.store.repository import Repository
from skillgit.store.transactions import RefUpdate
from skillgit.train.archive.journal import StepRecord, exact_number
from skillgit.train.archive.messages import Place, epoch_message
from skillgit.train.archive.refusals import refuse_checked_out, refuse_symbolic
from skillgit.train.meeting import fetched
from skillgit.train.repair.findings import Flaw
from skillgit.train.repair.reading import Reader, commit_of
from skillgit.train.repair.told import TagTold, Told

IN_TABLE = ("step", "baseline", "slow-update")
"""Kinds of entries that an epoch's table has a row for."""


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """A skill whose refs are compared with its journals.

    Args:
        writes: whether tags that are gone for good may be written again (their objects, not yet their refs).
    """

    repo: Repository
    refs: SkillRefs
    told: Told
    writes: bool

    def flaws(self) -> Iterator[Flaw]:
        """All that is not where the journals say."""
        yield from self._branch()
        yield from self._best()
        yield from self._rejected()
        yield from self._tags()

    def _branch(self) -> Iterator[Flaw]:
        wanted, ref = self.told.branch, self.refs.branch
        if wanted is None:
            return
        found, short = self.repo.read_ref(ref), ref.removeprefix(HEADS)
        if found == wanted:
            return
        if (gone := self._gone(wanted)) is not None:
            yield Flaw("branch", f"{short} is at {_at(found)}, the journal's {gone}", _FETCH)
        elif found is None and fetched(self.repo, ref) is not None:
            said = f"{short} is not here; the fetched one is"
            yield Flaw("branch", said, f"`skillgit train {self.refs.name}` starts from it", only_said=True)
        elif found is None:
            yield self._moved("branch", ref, None, wanted, f"{short} is missing")
        elif self.repo.objects.is_ancestor(wanted, found):
            return  # people's commits on top: the next run measures them
        elif self.repo.objects.is_ancestor(found, wanted):
            said = f"{short} was rewound to {found[:12]}"
            yield self._moved("branch", ref, found, wanted, said)
        else:
            said = f"{short} is at {found[:12]}, which does not have the journal's tip {wanted[:12]}"
            mend = f"nothing is overwritten: `git merge {wanted[:12]}` on it, or train on: its document is measured"
            yield Flaw("branch", said, mend)

    def _best(self) -> Iterator[Flaw]:
        wanted, ref = self.told.best, self.refs.best
        found = self.repo.read_ref(ref)
        if wanted is None or found == wanted:
            return
        if (gone := self._gone(wanted)) is not None:
            yield Flaw("best", f"{ref} is at {_at(found)}, the journal's {gone}", _FETCH)
        else:
            yield self._set("best", ref, found, wanted)

    def _rejected(self) -> Iterator[Flaw]:
        here = self.repo.list_refs(self.refs.rejected_prefix)
        left_out = pruned(self.repo, self.refs.name)
        for ref, wanted in self.told.rejected.items():
            found = here.get(ref)
            if found == wanted or ref in left_out:
                continue
            if (gone := self._gone(wanted)) is not None:
                yield Flaw("rejected", f"{ref} is at {_at(found)}, the journal's {gone}", _FETCH)
            else:
                yield self._set("rejected", ref, found, wanted)

    def _tags(self) -> Iterator[Flaw]:
        here = self.repo.list_refs(self.refs.tags_prefix)
        for ref, tag in self.told.tags.items():
            found = here.get(ref)
            if found == tag.tag:
                continue
            try:
                commit = Reader(self.repo).state(tag.entry).tip
            except (RefusedError, RepositoryError):
                continue  # said of the journal
            if found is not None and self._named(found) == commit:
                continue  # written anew by a repair: another date, the same commit
            if self._named(tag.tag) is not None:
                yield self._set("tags", ref, found, tag.tag)
            elif found is None:
                yield self._again(ref, tag, commit)
            else:
                yield Flaw("tags", f"{ref} is at {found[:12]}, the journal's {tag.tag[:12]} is not here", _FETCH)

    def _again(self, ref: str, tag: TagTold, commit: str) -> Flaw:
        """A tag whose object is gone: its message is made of the journal."""
        said = f"{ref} is missing"
        if not ref.startswith(f"{self.refs.tags_prefix}{tag.run}/epoch-"):
            return Flaw("tags", f"{said}, and its tag {tag.tag[:12]} is not here", _FETCH)
        new = tag.tag
        if self.writes:
            message = tag_message(self.repo, self.told, tag)
            new = self.repo.objects.write_tag(ref.removeprefix("refs/tags/"), commit, message)
        return Flaw("tags", said, f"written again on {commit[:12]}", RefUpdate(ref, None, new))

    def _set(self, what: str, ref: str, found: str | None, wanted: str) -> Flaw:
        """A ref of ours alone, brought to where it belongs unless something would be lost."""
        if found is None:
            return self._moved(what, ref, None, wanted, f"{ref} is missing")
        said = f"{ref} is at {found[:12]}, the journal says {wanted[:12]}"
        if not self._kept(ref, found):
            mend = f"nothing else keeps {found[:12]}: look at it, then `git update-ref {ref} {wanted}`"
            return Flaw(what, said, mend)
        return self._moved(what, ref, found, wanted, said)

    def _moved(self, what: str, ref: str, found: str | None, wanted: str, said: str) -> Flaw:
        try:
            refuse_symbolic(self.repo, ref)
            if what == "branch":
                refuse_checked_out(self.repo, ref)
        except RefusedError as error:
            return Flaw(what, f"{said}: {error.message}", error.mend or "")
        return Flaw(what, said, f"set to {wanted[:12]}", RefUpdate(ref, found, wanted))

    def _gone(self, commit: str) -> str | None:
        try:
            commit_of(self.repo, commit)
        except RepositoryError:
            return f"{commit[:12]} is not here"
        return None

    def _named(self, tag: str) -> str | None:
        """The commit that a tag object names; None where it is missing or names something else."""
        try:
            found = self.repo.objects.read(tag)
            return peeled(found.data) if found.kind == "tag" else None
        except (RepositoryError, IndexError, ValueError):
            return None

    def _kept(self, ref: str, oid: str) -> bool:
        """Whether another ref reaches an object."""
        listed = self.repo.git("for-each-ref", "--format=%(refname)", f"--contains={oid}", "--count=2", check=False)
        return any(other and other != ref for other in listed.text.split("\n"))


_FETCH = "get it with `skillgit fetch`"


def tag_message(repo: Repository, told: Told, tag: TagTold) -> str:
    """What an epoch's tag has to say, by its journal.

    Raises:
        RefusedError, RepositoryError: the journal cannot be read.
    """
    reader = Reader(repo)
    shown: list[StepRecord] = []
    for commit in told.chains[tag.run].commits:
        shown.append(reader.record(commit))
        if commit == tag.entry:
            break
    info, state, record = reader.info(tag.entry), reader.state(tag.entry), shown[-1]
    rows = [one for one in shown if one.epoch == record.epoch and one.kind in IN_TABLE]
    place = Place(info.skill, info.run, record.step, record.epoch)
    return epoch_message(place, rows, state, exact_number(record.best))


def _at(found: str | None) -> str:
    return found[:12] if found else "nothing"
