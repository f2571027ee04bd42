"""Bring edits of other skills, runs and branches, or rejected ones, to the tip's document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from skillgit.config import check_name
from skillgit.document import Edit
from skillgit.document.content import refused_content
from skillgit.document.regions import APPENDIX, GUIDANCE
from skillgit.document.structure import Structure
from skillgit.errors import ConflictError, RefusedError, UnfitChangeError, UsageError
from skillgit.redact import secrets_in
from skillgit.store.merging import BEST_FILE, merge_file
from skillgit.store.repository import Repository
from skillgit.store.trailers import parse_trailers
from skillgit.train.archive import documents, edits
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.edits import RecordedEdit
from skillgit.train.archive.taken_back import picked_from
from skillgit.train.carry.change import SOURCE, outcome
from skillgit.train.propose.candidate import Candidate, EditOutcome, build
from skillgit.train.propose.proposals import Proposal

_PLAIN = ("append", "insert_after", "replace", "delete")
_OF_REGIONS = ("guidance", "appendix", "revert", "merge", "pick", "rollback", "rewrite")
"""Ops of commits that may change a protected region; an edit's own never does."""
_BY_HAND = "commit that by hand"


@dataclass(frozen=True, slots=True)
class Picked:
    """A commit whose change is wanted.

    Args:
        path: the document that it changes, which may be another skill's.
        known: the edit, where a journal here knows the commit.
    """

    commit: str
    path: str
    known: RecordedEdit | None


class _ThereError(UnfitChangeError):
    """The document has that already."""

    def __init__(self, one: Picked) -> None:
        super().__init__(f"{one.commit[:12]}: the document has that already")


def find(repo: Repository, path: str, rev: str, given: str | None = None) -> Picked:
    """What a person means by a revision.

    Args:
        path: the document that the change is for. given: the one that the commit changes, where the person says it.

    Raises:
        UsageError: no such commit, or not clear which file's change is meant. RefusedError: a merge, or a first commit.
    """
    commit = repo.resolve(rev)
    if commit is None:
        raise UsageError(f"{rev}: no such revision", mend="name a commit, a branch, a tag or a rejected ref")
    info = repo.objects.read_commit(commit)
    if len(info.parents) != 1:
        what = "a merge" if info.parents else "a first commit"
        raise RefusedError(f"{rev} is {what}: it stands for no single change", mend="name the edit's own commit")
    changed = _changed(repo, info.parents[0], commit)
    source = given or _source(changed, path, rev)
    if source not in changed:
        raise UsageError(f"{rev} does not change {source}", mend="name another commit, or its file with --path")
    name = dict(parse_trailers(info.message)).get("Skill-Name", "")
    return Picked(commit, source, edits.by_commit(repo, name, commit) if _is_name(name) else None)


def picked(repo: Repository, before: Placed, wanted: Sequence[Picked]) -> Candidate:
    """The document with the changes, in the order given, a commit each.

    An edit that a journal here knows is applied as it was proposed; where that does not fit, and for all other commits,
    the change is merged three ways. Of several, those that the document has already are left out.

    Raises:
        ConflictError: it fits in neither way. UnfitChangeError: it changes nothing, or
            brings what no edit may.
    """
    text, outcomes = before.text, list[EditOutcome]()
    there: _ThereError | None = None
    for one in wanted:
        try:
            found = _apply(repo, text, one)
        except _ThereError as error:
            there = there or error
            continue
        text = found.document
        outcomes.append(found)
    if there is not None and not outcomes:
        raise there
    return Candidate(text, tuple(outcomes))


def _apply(repo: Repository, text: str, one: Picked) -> EditOutcome:
    parent = repo.objects.read_commit(one.commit).parents[0]
    had, has = (documents.read(repo, commit, one.path).text for commit in (parent, one.commit))
    known = one.known.edit if one.known is not None and one.known.edit.op in _PLAIN else None
    edit, problem = known or as_edit(had, has), ""
    if known is not None:
        found = _by_edit(text, known, one)
        if found.status == "applied":
            return found
        if found.status == "no_change":
            raise _ThereError(one)
    merged, shown = merge_file(repo, text, had, has, labels=("now", "before", one.commit[:12]))
    if merged:
        _check(repo, one, text, merged)
        subject = repo.objects.read_commit(one.commit).subject
        subject = subject.partition(": ")[2] if subject.startswith("skill(") else subject
        return outcome("pick", subject, _told(one), merged)
    if edit is not None:
        found = _by_edit(text, edit, one)
        if found.status == "applied":
            return found
        if found.status == "no_change":
            raise _ThereError(one)
        problem = f": {found.status}: {found.reason.removesuffix('.')}"
    raise ConflictError(
        f"{one.commit[:12]} does not fit into this document{problem}", mend="make the edit by hand", shown=shown
    )


def _told(one: Picked) -> str:
    return picked_from(one.commit)


def _by_edit(text: str, edit: Edit, one: Picked) -> EditOutcome:
    reason = f"{edit.reason}\n\n{_told(one)}" if edit.reason else _told(one)
    found = build(text, [Proposal(replace(edit, reason=reason), 1, "failure", 0)]).outcomes[0]
    return replace(found, source=SOURCE)


def as_edit(had: str, has: str) -> Edit | None:
    """A change that only adds lines in one place, as the edit that it could have been; None for any other."""
    before, after = had.splitlines(), has.splitlines()
    changes = [
        code for code in SequenceMatcher(None, before, after, autojunk=False).get_opcodes() if code[0] != "equal"
    ]
    if len(changes) != 1 or changes[0][0] != "insert":
        return None
    _, place, _, start, end = changes[0]
    content = "\n".join(after[start:end]).strip("\n")
    above = next((line for line in reversed(before[:place]) if line.strip()), "")
    if not content.strip() or not above:
        return None
    if not any(line.strip() for line in before[place:]):
        return Edit("append", content=content)
    return Edit("insert_after", target=above.strip(), content=content)


def _check(repo: Repository, one: Picked, text: str, merged: str) -> None:
    """What an edit may not bring, a commit may not either.

    Raises:
        UnfitChangeError: it does.
    """
    short = one.commit[:12]
    if merged == text:
        raise _ThereError(one)
    if brought := secrets_in(merged) - secrets_in(text):
        kinds = ", ".join(sorted({kind for kind, _ in brought}))
        raise UnfitChangeError(f"{short} would bring a secret ({kinds})")
    now, then = Structure(text), Structure(merged)
    if then.frontmatter_text != now.frontmatter_text:
        raise UnfitChangeError(f"{short} changes the frontmatter, which training never does", mend=_BY_HAND)
    if _regions(then) != _regions(now) and _op(repo, one) not in _OF_REGIONS:
        raise UnfitChangeError(f"{short} changes a protected region, which only training writes", mend=_BY_HAND)
    if hidden := _hidden(now, then):
        raise UnfitChangeError(f"{short}: {hidden}", mend=_BY_HAND)


def _op(repo: Repository, one: Picked) -> str:
    """What kind of edit a commit says that it is."""
    if one.known is not None:
        return one.known.edit.op
    trailers = dict(parse_trailers(repo.objects.read_commit(one.commit).message))
    return trailers.get("Skill-Edit", "").rpartition(" ")[2]


def _regions(structure: Structure) -> list[str]:
    return [structure.text[region.start : region.end] for region in structure.regions]


def _hidden(before: Structure, after: Structure) -> str | None:
    """What a reader of the document would not see, among the lines that are new in it."""
    markers = {f"<!-- {kind}_{end} -->" for kind in (GUIDANCE, APPENDIX) for end in ("START", "END")}
    if Counter(after.comments) - Counter(before.comments) - Counter(dict.fromkeys(markers, len(after.text))):
        return "it brings an HTML comment, which readers do not see"
    old = set(before.text.splitlines())
    new = [line for line in after.text.splitlines() if line not in old and "<!--" not in line]
    return refused_content("\n".join(new))


def _changed(repo: Repository, old: str, new: str) -> list[str]:
    listed = repo.git("diff-tree", "-r", "-z", "--no-renames", "--name-only", "--diff-filter=M", old, new).text
    return [path for path in listed.split("\0") if path]


def _source(changed: Sequence[str], path: str, rev: str) -> str:
    if path in changed:
        return path
    fitting = [p for p in changed if p.endswith(".md") and PurePosixPath(p).name != BEST_FILE]
    if len(fitting) == 1:
        return fitting[0]
    what = f"changes {', '.join(fitting[:5])}" if fitting else "changes no Markdown file"
    raise UsageError(f"{rev} {what}", mend="say which document is meant with --path")


def _is_name(name: str) -> bool:
    try:
        check_name(name)
    except ValueError:
        return False
    return True
