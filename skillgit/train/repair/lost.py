"""Journals whose refs were lost, or set back: looked for in fetched copies, reflogs and objects that no ref reaches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from skillgit.errors import RefusedError, RepositoryError
from skillgit.store.refs import SkillRefs, is_run_id, parse_rejected
from skillgit.store.repository import Repository
from skillgit.store.trailers import parse_trailers
from skillgit.store.transactions import RefUpdate
from skillgit.train.archive.layout import SUBJECT
from skillgit.train.repair.findings import Flaw
from skillgit.train.repair.reading import Chain, Reader, chain_of, commit_of, first_parents
from skillgit.train.repair.told import Told

_COPIES = "refs/skillgit/remotes/"
_OURS = re.compile(r"refs/(skillgit|heads|tags)/")
_MOST_LOGGED = 50
_MOST_COMMITS = 1000


@dataclass(frozen=True, slots=True)
class Signs:
    """Runs that something here speaks of.

    Args:
        sure: by refs that never come alone: rejected candidates, evidence.
        likely: by commits and tags, which plain git copies without the journal.
    """

    sure: frozenset[str]
    likely: frozenset[str]


def signs(repo: Repository, refs: SkillRefs) -> Signs:
    """Which runs are spoken of."""
    rejected = {parts.run for ref in repo.list_refs(refs.rejected_prefix) if (parts := parse_rejected(ref))}
    evidence = {ref.rpartition("/")[2] for ref in repo.list_refs(f"refs/skillgit/evidence/{refs.name}/")}
    tagged = {ref.split("/")[4] for ref in repo.list_refs(refs.tags_prefix) if ref.count("/") == 5}
    tips = [oid for ref in (refs.branch, refs.best) if (oid := repo.read_ref(ref)) is not None]
    trailers = "%(trailers:key=Skill-Run,valueonly,separator=%x0a)"
    named = f"^Skill-Name: {refs.name}$"
    told = repo.git("log", f"--format={trailers}", f"--grep={named}", *tips, "--").text if tips else ""
    return Signs(_runs(rejected | evidence), _runs(tagged | set(told.split("\n"))))


def _runs(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(text for text in texts if is_run_id(text))


def flaws(repo: Repository, refs: SkillRefs, told: Told) -> list[Flaw]:
    """Journals that are missing or were set back, each with the tip that was found for it.

    Args:
        told: what the journals say that refs point to now.
    """
    spoken = signs(repo, refs)
    missing = sorted((spoken.sure | spoken.likely) - told.chains.keys())
    copies = _copies(repo, refs) if missing else {}
    ahead = _ahead(repo, refs, told)
    adrift = _adrift(repo, refs) if ahead or set(missing) - copies.keys() else {}
    found = []
    for run in sorted(told.chains):
        tip, later = told.chains[run].tip, _later(repo, refs, told.chains[run], adrift.get(run, ()))
        if later is not None:
            said = f"the journal {refs.journal(run)} was set back to {tip[:12]}"
            update = RefUpdate(refs.journal(run), tip, later)
            found.append(Flaw("journals", said, f"brought forward to {later[:12]}", update))
        elif run in ahead:
            said = f"the journal {refs.journal(run)} does not know {ahead[run]}: it may have been set back"
            found.append(Flaw("journals", said, "get the rest with `skillgit fetch`"))
    for run in missing:
        said, mend = f"the journal {refs.journal(run)} is missing", "get it with `skillgit fetch`"
        if run in copies or run in adrift:
            where = f"{copies[run][0]} has it" if run in copies else "its entries are still here, in no ref"
            tip = copies[run][1] if run in copies else adrift[run][-1]
            update = RefUpdate(refs.journal(run), None, tip)
            found.append(Flaw("journals", f"{said}; {where}", f"set to {tip[:12]}", update))
        elif run in spoken.sure:
            found.append(Flaw("journals", f"{said}, and nothing of it was found here", mend))
    return found


def _ahead(repo: Repository, refs: SkillRefs, told: Told) -> dict[str, str]:
    """By run, a ref that its journal should know and does not: a sign that the journal was set back."""
    found = {}
    broken = {run for run, _ in told.problems} | {chain.run for chain in told.chains.values() if chain.cut}
    for ref in repo.list_refs(refs.rejected_prefix):
        parts = parse_rejected(ref)
        if parts and parts.run in told.chains.keys() - broken and ref not in told.rejected:
            found[parts.run] = ref
    tip = repo.read_ref(refs.branch)
    if tip is not None and told.branch is not None and tip != told.branch:
        for info in islice(first_parents(repo, tip, told.branch), _MOST_COMMITS):
            trailers = dict(parse_trailers(info.message))
            run = trailers.get("Skill-Run", "")
            ours = trailers.get("Skill-Name") == refs.name and "Skill-Decision" in trailers
            if ours and run in told.chains.keys() - broken and not _known(told, info.oid, run, trailers):
                found[run] = info.oid[:12]
    return found


def _known(told: Told, oid: str, run: str, trailers: dict[str, str]) -> bool:
    """Whether a journal has this commit, or its step: then it is a copy that somebody made of it."""
    step = trailers.get("Skill-Step", "")
    return oid in told.vals or (step.isdecimal() and len(step) < 10 and (run, int(step)) in told.steps)


def _later(repo: Repository, refs: SkillRefs, chain: Chain, adrift: Sequence[str]) -> str | None:
    """An entry on top of a journal's tip that the journal once had: its reflog says so, or a ref that it moved."""
    logged = [oid for oid in _reflog(repo, refs.journal(chain.run))[:_MOST_LOGGED] if oid != chain.tip]
    for oid in (*logged, *reversed(adrift)):
        if chain.tip not in chain_of(repo, chain.run, oid).commits:
            continue
        if oid in logged or _was_written(repo, oid):
            return oid
    return None


def _was_written(repo: Repository, entry: str) -> bool:
    """Whether an entry's transaction was carried out: an entry whose transaction was refused stays behind as well."""
    try:
        rows = Reader(repo).record(entry).refs
    except (RefusedError, RepositoryError):
        return False
    moved = [(row[0], row[2]) for row in rows if len(row) == 3 and row[0] is not None and row[1] != row[2]]
    return any(new is not None and _OURS.match(ref) and repo.read_ref(ref) == new for ref, new in moved)


def _reflog(repo: Repository, ref: str) -> list[str]:
    """What a ref has pointed to, newest first."""
    try:
        lines = (repo.common_dir / "logs" / ref).read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [new for line in reversed(lines) if (new := line[41:81] if line[40:41] == " " else line[65:129])]


def _copies(repo: Repository, refs: SkillRefs) -> dict[str, tuple[str, str]]:
    """Journals among the fetched copies, by run: the copy's name and its tip; of several the longest."""
    found: dict[str, tuple[str, str]] = {}
    wanted = re.compile(rf"{_COPIES}.+/runs/{refs.name}/([^/]+)")
    lengths: dict[str, int] = {}
    for ref, oid in repo.list_refs(_COPIES).items():
        match = wanted.fullmatch(ref)
        if match and is_run_id(match[1]):
            length = len(chain_of(repo, match[1], oid).commits)
            if length > lengths.get(match[1], 0):
                found[match[1]], lengths[match[1]] = (ref, oid), length
    return found


def _adrift(repo: Repository, refs: SkillRefs) -> dict[str, list[str]]:
    """Tips of journals that no ref reaches, by run: that of the latest step last, then the latest commit."""
    told = repo.git("fsck", "--unreachable", "--no-reflogs", "--connectivity-only", "--no-progress", check=False).text
    reader, ends, inner = Reader(repo), list[tuple[str, int, int, str]](), set[str]()
    for oid in re.findall(r"^unreachable commit (\w+)$", told, re.MULTILINE):
        try:
            info = commit_of(repo, oid)
            if not info.message.startswith(SUBJECT):
                continue
            about = reader.info(oid)
            if about.skill == refs.name and is_run_id(about.run):
                ends.append((about.run, reader.state(oid).step, info.commit_time, oid))
                inner |= set(info.parents[:1])
        except (RefusedError, RepositoryError):
            continue
    found: dict[str, list[str]] = {}
    for run, _, _, oid in sorted(ends):
        if oid not in inner:
            found.setdefault(run, []).append(oid)
    return found
