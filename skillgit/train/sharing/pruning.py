"""Prune rejected candidates: here, and on a remote by explicit deletions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from skillgit.errors import UsageError
from skillgit.store import remotes
from skillgit.store.locks import SkillLock
from skillgit.store.pruned import list_ref, prune, pruned_commits
from skillgit.store.refs import RejectedRef, SkillRefs, parse_rejected, run_time
from skillgit.store.repository import Repository
from skillgit.store.sync.lists import read_lists
from skillgit.store.sync.refspecs import batches
from skillgit.store.sync.sending import send
from skillgit.train.archive.story import parse_step
from skillgit.train.events import Listener
from skillgit.train.start import recover

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which candidates a person means; with `steps`, exactly these.

    Args:
        run: the beginning of a run's id. older_than: how long before now a candidate must have been made.
    """

    steps: tuple[str, ...] = ()
    run: str | None = None
    older_than: timedelta | None = None
    everything: bool = False

    @property
    def nothing(self) -> bool:
        """Whether no candidate is named in any way."""
        return not (self.steps or self.everything or self.run is not None or self.older_than is not None)


@dataclass(slots=True)
class Pruned:
    """What was pruned, or, in a dry run, would be.

    Args:
        here: refs that were removed here. there: refs that were deleted on the remote.
        differing: refs that have another commit on the remote: they stay there.
    """

    here: list[str]
    remote: str | None = None
    there: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)


def select(
    refs: Mapping[str, datetime], wanted: Wanted, now: datetime, name: str, unknown: Collection[str] = ()
) -> list[str]:
    """The refs that are meant, sorted. Pure.

    Args:
        refs: whole names of rejected refs, and when each candidate was made.
        unknown: refs that were pruned before, which may be named again.

    Raises:
        UsageError: a step that is not there, or of which more than one candidate was rejected.
    """
    parsed = {ref: found for ref in (*refs, *unknown) if (found := parse_rejected(ref)) is not None}
    if wanted.steps:
        return sorted({_find(parsed, name, step) for step in wanted.steps})
    chosen = []
    for ref, found in parsed.items():
        if wanted.run is not None and not found.run.startswith(wanted.run):
            continue
        if wanted.older_than is not None and now - refs.get(ref, run_time(found.run)) < wanted.older_than:
            continue
        chosen.append(ref)
    if wanted.run is not None and not any(found.run.startswith(wanted.run) for found in parsed.values()):
        raise UsageError(f"{name} has no rejected candidate of run {wanted.run}", mend=_see(name))
    return sorted(chosen)


def _find(parsed: Mapping[str, RejectedRef], name: str, step: str) -> str:
    asked = parse_step(step)
    fitting = {
        ref: found
        for ref, found in parsed.items()
        if asked and found.run.startswith(asked.run) and found.step == asked.step and asked.candidate in (None, found.k)
    }
    newest = max((found.run for found in fitting.values()), default="")
    fitting = {ref: found for ref, found in fitting.items() if found.run == newest}
    if not fitting:
        raise UsageError(f"{name} has no rejected candidate {step!r}", mend=_see(name))
    if len(fitting) > 1:
        which = ", ".join(sorted(f"{found.step}-{found.k:02d}" for found in fitting.values()))
        raise UsageError(f"{name} has more than one rejected candidate {step!r}: {which}", mend="name one of them")
    return next(iter(fitting))


def _see(name: str) -> str:
    return f"see `skillgit rejected list {name}`"


def run_prune(
    repo: Repository,
    name: str,
    wanted: Wanted,
    *,
    remote: str | None,
    push: bool,
    dry_run: bool,
    tell: Listener,
    say: Say,
) -> Pruned:
    """Remove candidates here and, with `push`, on a remote: there also those that were pruned here before.

    Args:
        wanted: where it names nothing, those that a list of pruned ones has already.
        remote: chosen as for a push where None.

    Raises:
        UsageError: nothing is named, or what is named is not there. RefMovedError: a ref moved meanwhile.
        RefusedError: the remote said no; what was pruned here stays pruned.
    """
    target = _remote(repo, name, remote) if push else None
    there = remotes.listing(repo, target, push=True) if target is not None else {}
    before = pruned_commits(repo, name)
    here = _made(repo, name)
    times = {ref: made for ref, (_, made) in here.items()}
    again = before if push else {}
    meant = sorted(before) if wanted.nothing else select(times, wanted, datetime.now(UTC), name, again)
    local = {ref: here[ref][0] for ref in meant if ref in here}
    if wanted.nothing and not (push or local):
        raise UsageError("which candidates?", mend="name STEPs, or use --run, --older-than or --all")
    if local and not dry_run:
        with SkillLock.acquire(repo, name, "rejected prune") as lock:
            recover(repo, name, lock, tell)
            prune(repo, name, local, lock)
    done = Pruned(sorted(local), target)
    if target is None:
        return done
    had = {ref: oid for ref in meant if (oid := local.get(ref) or before.get(ref, "")) and ref in there}
    done.differing = sorted(ref for ref, oid in had.items() if there[ref] != oid)
    done.there = sorted(ref for ref in had if ref not in done.differing)
    if not dry_run:
        _delete(repo, target, name, {ref: had[ref] for ref in done.there}, there, say)
    return done


def _remote(repo: Repository, name: str, given: str | None) -> str:
    """As for a push; a STEP behind --push is taken for the remote, and the mend says so."""
    try:
        return remotes.choose(repo, given, push=True)
    except UsageError:
        if given is None or parse_step(given) is None:
            raise
    mend = f"STEPs come before --push: `skillgit rejected prune {name} {given} --push`"
    raise UsageError(f"{given} is a STEP, and no remote", mend=mend)


def _made(repo: Repository, name: str) -> dict[str, tuple[str, datetime]]:
    """The rejected refs that are here: what each points to, and when it was committed."""
    form = "--format=%(refname) %(objectname) %(committerdate:unix)"
    told = repo.git("for-each-ref", form, SkillRefs(name).rejected_prefix).text
    found = {}
    for line in told.split("\n"):
        ref, _, rest = line.partition(" ")
        oid, _, seconds = rest.partition(" ")
        parsed = parse_rejected(ref)
        if parsed is not None:
            found[ref] = (oid, datetime.fromtimestamp(int(seconds), UTC) if seconds else run_time(parsed.run))
    return found


def _delete(
    repo: Repository, remote: str, name: str, refs: Mapping[str, str], there: Mapping[str, str], say: Say
) -> None:
    """Delete refs on the remote, each with a lease on its value; as many at once as a command line holds.

    The list goes with the first of them, so that no other clone sends them again.
    """
    lists = read_lists(repo, remote, there, [name], push=True)
    for text in lists.odd.values():
        say(text)
    ref = list_ref(name)
    longer, old = lists.outgoing(repo, name), there.get(ref)
    listed = [(f"{longer}:{ref}", (ref, old))] if longer is not None and longer != old else []
    for batch in [*batches(_deletions(refs))] or [[]]:
        names = [part.removeprefix(":") for part in batch if part.startswith(":")]
        refspecs = [*(spec for spec, _ in listed), *(f":{one}" for one in names)]
        leases = [*((ref, old) for _, (ref, old) in listed if old), *((one, refs[one]) for one in names)]
        if refspecs:
            send(repo, remote, refspecs, leases=leases, say=say)
        listed = []


def _deletions(refs: Mapping[str, str]) -> list[Sequence[str]]:
    """Each as it stands on the command line."""
    return [(f"--force-with-lease={ref}:{oid}", f":{ref}") for ref, oid in refs.items()]
