"""Which edit or person brought each line: lines as `git blame` has them, scores only of what the journal lists."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from support import repos, training
from support.training import BEST_REF, BRANCH, DOCUMENT, SKILL, Yard
from support.world import TopicWorld

from skillgit.errors import RepositoryError
from skillgit.store.repository import Repository
from skillgit.train.archive.blaming import Blame, blame, parse

MakeYard = Callable[..., Yard]


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """After two runs with acceptances and rejections, and a person's commit between them."""
    root = tmp_path_factory.mktemp("once") / "repo"
    with training.trained_once(root, training.mixed(), ["train.num_epochs=1"]) as made:
        made.commit_on(BRANCH, {DOCUMENT: made.text() + "- A person wrote this.\n"}, "By hand")
        asyncio.run(made.train())
        yield made


@pytest.fixture
def here(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return training.copied(once, tmp_path / "repo", monkeypatch)


def of(here: Yard, rev: str = BRANCH, *ranges: str) -> Blame:
    repo = Repository.open(here.root)
    return blame(repo, SKILL, repo.resolve(rev) or "", DOCUMENT, ranges)


def oracle(here: Yard, rev: str) -> list[tuple[str, int, str]]:
    """(commit, line, text) as plain `git blame` prints them."""
    found = []
    for line in here.git("blame", "-s", "-l", "--root", rev, "--", DOCUMENT).splitlines():
        match = re.fullmatch(r"([0-9a-f]{40})\s+(?:\S+\s+)?(\d+)\) ?(.*)", line)
        assert match, line
        found.append((match[1], int(match[2]), match[3]))
    return found


def at(here: Yard, work: Path, rev: str) -> Path:
    """A work tree at a revision, for what a person does with plain git."""
    here.git("worktree", "add", "-q", "-B", "mine", str(work), rev)
    return work


@pytest.mark.parametrize("rev", [BRANCH, BEST_REF, "main", f"{BRANCH}~3"])
async def test_lines_are_git_s(here: Yard, rev: str) -> None:
    found = of(here, rev)
    assert [(line.commit, line.number, line.text) for line in found.lines] == oracle(here, rev)
    assert found.origins.keys() == {line.commit for line in found.lines}
    for commit, origin in found.origins.items():
        said = here.git("log", "-1", "--format=%an%n%aI%n%s", commit).split("\n")
        assert [origin.commit.author, origin.commit.date.isoformat(), origin.commit.summary] == said
        json.dumps(origin.to_json())


async def test_edits_have_what_the_journal_says_of_them(here: Yard) -> None:
    edits = 0
    by_commit = {c: (r, n) for run in training.journals(here.root) for r in run for n, c in enumerate(r.commits)}
    for commit, origin in of(here).origins.items():
        if origin.kind != "edit":
            continue
        record, number = by_commit[commit]
        row = [edit for edit in record.edits if edit["status"] == "applied"][number]
        shown = origin.to_json()
        assert (shown["step"], shown["edit"], shown["edits"]) == (record.step, number + 1, len(record.commits))
        assert (shown["reason"], shown["support"], shown["op"]) == (row["reason"], row["support"], row["op"])
        assert shown["decision"] == record.decision
        assert origin.delta == Fraction(str(record.score)) - Fraction(str(record.before))
        assert shown["run"] == training.trailer(here.root, commit, "Skill-Run")
        # The line is what the edit brought.
        assert any(line.text in row["content"] for line in of(here).lines if line.commit == commit)
        edits += 1
    assert edits >= 3


async def test_people_and_the_base(here: Yard) -> None:
    found = of(here)
    by_text = {line.text: found.origins[line.commit] for line in found.lines}
    person = by_text["- A person wrote this."]
    assert (person.kind, person.commit.author, person.commit.summary) == ("person", "Test Person", "By hand")
    assert (person.run, person.delta) == (None, None)
    base = by_text["Answer with the code."]
    assert (base.kind, base.commit.oid) == ("base", here.git("rev-parse", "main"))


async def test_before_any_run_everything_is_people_s(yard: MakeYard) -> None:
    here = yard(TopicWorld(2, 1))
    assert {origin.kind for origin in of(here, "main").origins.values()} == {"person"}


def rebased(here: Yard, work: Path, tip: str) -> None:
    repos.git(work, "rebase", "-q", "--force-rebase", "main", env={"GIT_COMMITTER_DATE": "2026-02-02T00:00:00+0000"})


def amended(here: Yard, work: Path, tip: str) -> None:
    (work / DOCUMENT).write_text((work / DOCUMENT).read_text() + "- Slipped in.\n")
    repos.git(work, "commit", "-q", "-a", "--amend", "--no-edit")


def picked(here: Yard, work: Path, tip: str) -> None:
    repos.git(work, "reset", "-q", "--hard", f"{tip}~1")
    (work / "other").write_text("x\n")
    repos.git(work, "add", "-A")
    repos.git(work, "commit", "-q", "-m", "Before it")
    repos.git(work, "cherry-pick", tip)


def squashed(here: Yard, work: Path, tip: str) -> None:
    repos.git(work, "reset", "-q", "--hard", "main")
    repos.git(work, "merge", "-q", "--squash", tip)
    repos.git(work, "commit", "-q", "--no-edit")


@pytest.mark.parametrize(
    ("does", "kinds"),
    [
        (rebased, {"copied", "person", "base"}),
        (amended, {"copied", "edit", "person", "base"}),
        (picked, {"copied", "edit", "person", "base"}),
        (squashed, {"person", "base"}),
    ],
)
async def test_what_plain_git_made_anew_has_no_score(
    here: Yard, tmp_path: Path, does: Callable[[Yard, Path, str], None], kinds: set[str]
) -> None:
    tip = here.git("rev-parse", BRANCH)
    work = at(here, tmp_path / "work", tip)
    does(here, work, tip)
    listed = {commit for run in training.journals(here.root) for record in run for commit in record.commits}
    found = of(here, "mine")
    assert {origin.kind for origin in found.origins.values()} == kinds
    for commit, origin in found.origins.items():
        assert (origin.kind == "edit") == (commit in listed)
        if commit not in listed:
            shown = origin.to_json()
            assert (shown["score"], shown["delta"], shown["support"], shown["reason"]) == (None,) * 4
        if origin.kind == "copied":
            assert origin.step == int(training.trailer(here.root, commit, "Skill-Step"))


async def test_a_journal_that_is_not_here_vouches_for_nothing(here: Yard) -> None:
    for ref in here.refs("refs/skillgit/runs/"):
        here.git("update-ref", "-d", ref)
    found = {origin.kind for origin in of(here).origins.values()}
    assert found == {"unknown", "person"}
    assert all(origin.delta is None for origin in of(here).origins.values())


@pytest.mark.parametrize("files", [{}, {"run.json": "[]"}, {"run.json": '{"base": "--help"}'}])
async def test_a_first_journal_that_cannot_be_read(here: Yard, files: dict[str, str]) -> None:
    """Whoever can push can write journals. Then it is not known where training began."""
    rows = [
        f"100644 blob {here.git('hash-object', '-w', '--stdin', input=text)}\t{name}\n" for name, text in files.items()
    ]
    tree = here.git("mktree", input="".join(rows))
    for message in (f"skillgit journal: {SKILL} step 0 baseline", "no journal"):
        commit = here.git("commit-tree", tree, "-m", message)
        here.git("update-ref", f"refs/skillgit/runs/{SKILL}/{'0' * 26}", commit)
        assert {origin.kind for origin in of(here).origins.values()} == {"edit", "person"}


async def test_a_rejected_candidate_can_be_blamed(here: Yard) -> None:
    ref = next(iter(here.refs("refs/skillgit/rejected/")))
    tip = here.git("rev-parse", ref)
    origin = of(here, ref).origins.get(tip)
    assert origin is not None
    assert origin.entry is not None
    assert (origin.kind, origin.entry.record.decision) == ("edit", "reject")


async def test_a_document_that_was_brought_back(here: Yard) -> None:
    """The commit that does so is no edit, and says of itself what it is."""
    here.commit_on(BRANCH, {DOCUMENT: here.text("main")}, "Throw it all away")
    with pytest.raises(Exception, match="interrupted"):
        await here.train("train.num_epochs=1", entries=0)  # measures theirs, which is lower
    await here.train("train.num_epochs=1", fresh=True)
    back = here.git("log", "-1", "--format=%H", "--grep=bring back the best document", BRANCH)
    origin = of(here).origins[back]
    assert (origin.kind, origin.what, origin.delta) == ("ours", "revert", None)


async def test_ranges(here: Yard) -> None:
    assert [(line.number, line.commit) for line in of(here, BRANCH, "2,4").lines] == [
        (number, commit) for commit, number, _ in oracle(here, BRANCH) if 2 <= number <= 4
    ]
    assert [line.number for line in of(here, BRANCH, "1,1", "3,+2").lines] == [1, 3, 4]
    with pytest.raises(RepositoryError, match=r"has only .* lines"):
        of(here, BRANCH, "4000,4001")
    with pytest.raises(RepositoryError, match="git blame"):
        of(here, BRANCH, "--help")


async def test_odd_text_and_odd_people(yard: MakeYard) -> None:
    head = "---\nname: a\ndescription: b\n---\n\n"
    text = f"{head}crlf\r\n\tauthor x\n\x1b[31mred\u2028\n{'0123456789' * 4} 1 2\nlast"
    here = yard(TopicWorld(2, 1))
    (here.root / DOCUMENT).write_bytes(text.encode())
    env = {"GIT_AUTHOR_NAME": "Zoë  'x' 名", "GIT_AUTHOR_DATE": "2026-03-04T05:06:07-0730"}
    repos.git(here.root, "commit", "-q", "-a", "-m", "author-time 7", env=env)
    found = of(here, "main")
    expected = [line.removesuffix("\r") for line in text.split("\n")]
    assert [line.text for line in found.lines] == expected
    origin = found.origins[here.git("rev-parse", "main")]
    assert (origin.commit.author, origin.commit.summary) == ("Zoë  'x' 名", "author-time 7")
    assert origin.commit.date.isoformat() == "2026-03-04T05:06:07-07:30"


def test_no_lines() -> None:
    assert parse(b"") == ({}, [])


async def test_a_repository_of_longer_ids(tmp_path: Path) -> None:
    where = repos.make_repo(tmp_path / "long", {DOCUMENT: "one\ntwo\n"}, object_format="sha256")
    repos.commit(where, {DOCUMENT: "one\n2\n"}, "Second")
    repo = Repository.open(where)
    head = repo.resolve("HEAD") or ""
    found = blame(repo, SKILL, head, DOCUMENT)
    assert [line.commit for line in found.lines] == [repos.git(where, "rev-parse", "HEAD~1"), head]
    assert {origin.kind for origin in found.origins.values()} == {"person"}
