"""Lines of the notes that are no facts are said, and nothing else is done about them."""

from __future__ import annotations

from support.training import BRANCH, Yard

from skillgit.store.notes import add_note
from skillgit.store.repository import Repository
from skillgit.train.repair.findings import Finding
from skillgit.train.repair.notes import all_notes, strange_lines


def strange(here: Yard) -> list[Finding]:
    repo = Repository.open(here.root)
    try:
        return list(strange_lines(repo))
    finally:
        repo.close()


def test_no_notes_and_good_notes_are_fine(here: Yard) -> None:
    assert strange(here) == []
    repo = Repository.open(here.root)
    tip = here.git("rev-parse", BRANCH)
    add_note(repo, tip, {"kind": "seen", "n": 1})
    add_note(repo, tip, {"kind": "seen", "n": 2})
    assert list(all_notes(repo)) == [(tip, {"kind": "seen", "n": 1}), (tip, {"kind": "seen", "n": 2})]
    repo.close()
    assert strange(here) == []


def test_a_persons_words_are_only_said(here: Yard) -> None:
    here.git("notes", "--ref=skillgit", "add", "-m", 'Looks good.\n\n[1]\n{"kind": "seen"}', BRANCH)
    (one,) = strange(here)
    tip = here.git("rev-parse", BRANCH)
    assert (one.exit_code, one.ok) == (0, True)
    assert one.problem == (
        f"refs/notes/skillgit: 2 lines are no JSON object and not read, the first on {tip[:12]}; "
        f"`git notes --ref=skillgit show {tip[:12]}` shows it"
    )


def test_notes_in_folders_are_read_as_well(here: Yard) -> None:
    tip = here.git("rev-parse", BRANCH)
    blob = here.git("hash-object", "-w", "--stdin", input="not a fact\n")
    inner = here.git("mktree", input=f"100644 blob {blob}\t{tip[4:]}\n")
    middle = here.git("mktree", input=f"040000 tree {inner}\t{tip[2:4]}\n")
    outer = here.git("mktree", input=f"040000 tree {middle}\t{tip[:2]}\n")
    here.git("update-ref", "refs/notes/skillgit", here.git("commit-tree", outer, "-m", "Notes"))
    assert here.git("notes", "--ref=skillgit", "show", tip) == "not a fact"
    (one,) = strange(here)
    assert f"a line is no JSON object and not read, the first on {tip[:12]}" in str(one.problem)
