"""Documents as people name them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import repos, training
from support.training import BEST_REF, BRANCH, DOCUMENT, SKILL, Yard
from support.world import TopicWorld

from skillgit.config import parse
from skillgit.errors import SkillgitError
from skillgit.store.repository import Repository
from skillgit.train.archive.revisions import Revision, find

MakeYard = Callable[..., Yard]


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """After two runs with acceptances and rejections."""
    root = tmp_path_factory.mktemp("once") / "repo"
    with training.trained_once(root, training.mixed(), ["train.num_epochs=1"], []) as made:
        yield made


@pytest.fixture
def here(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return training.copied(once, tmp_path / "repo", monkeypatch)


def named(here: Yard, text: str) -> Revision:
    settings = parse((here.root / "skillgit.yaml").read_text()).skill(SKILL)
    return find(Repository.open(here.root), SKILL, settings, text)


def runs(here: Yard) -> list[str]:
    return [ref.rsplit("/", 1)[1] for ref in here.refs("refs/skillgit/runs/")]


@pytest.mark.parametrize("word", ["best", "tip", "base", "main", "skill/topics", "main~0", BEST_REF])
async def test_words_and_what_git_knows(here: Yard, word: str) -> None:
    here.git("branch", "tip", "main")  # the words come first; a branch of that name is heads/tip
    ref = {"best": BEST_REF, "tip": BRANCH, "base": "refs/heads/main"}.get(word, word)
    found = named(here, word)
    assert (found.commit, found.blob) == (here.git("rev-parse", ref), here.git("rev-parse", f"{ref}:{DOCUMENT}"))
    assert (found.named, found.shown, found.run, found.step) == (word, word, None, None)
    assert named(here, "heads/tip").commit == here.git("rev-parse", "main")


async def test_steps_of_the_newest_run_and_of_a_named_one(here: Yard) -> None:
    first, second = runs(here)
    for number, run in enumerate(training.journals(here.root)):
        for record in run:
            found = named(here, f"{(first, second)[number][:10]}/{record.step}")
            none = record.decision == "none"
            assert found.blob == (record.document_before if none else record.document)
            assert (found.run, found.step) == ((first, second)[number], record.step)
            assert found.commit == (record.commits[-1] if record.commits else None)
    assert named(here, "2") == Revision("2", *_place(here, second, "2"))
    assert named(here, "04").step == 4
    assert named(here, "2").shown == f"2 (run {second[:10]})"


def _place(here: Yard, run: str, step: str) -> tuple[str, str | None, str, int]:
    found = named(here, f"{run}/{step}")
    return found.blob, found.commit, run, int(step)


async def test_a_step_that_only_an_older_run_has(here: Yard) -> None:
    await here.train("train.num_epochs=1", fresh=True)
    newest = runs(here)[-1]
    last = len(training.journals(here.root)[1]) - 1
    assert training.journal(here.root).state.step < last
    assert named(here, str(last)).run == runs(here)[1] != newest


async def test_a_rejected_candidate(here: Yard) -> None:
    for ref, commit in here.refs("refs/skillgit/rejected/").items():
        run, step = ref.split("/")[-2:]
        number, candidate = step.split("-")
        assert named(here, f"{run}/{int(number)}").commit == commit
        assert named(here, f"{run}/{int(number)}-{candidate}").commit == commit
        assert named(here, ref).commit == commit


async def test_other_candidates_of_a_step(yard: MakeYard) -> None:
    config = training.configuration(train="{num_epochs: 1, batch_size: 8}", optimizer="{proposals: 2}")
    here = yard(training.mixed(), config=config)
    await here.train()
    seen = 0
    for record in here.steps:
        for other in record.others:
            found = named(here, f"{record.step}-{other['candidate']}")
            assert (found.blob, found.commit) == (other["document"], other["commits"][-1])
            seen += 1
    assert seen


async def test_a_slow_update_stands_behind_its_step(yard: MakeYard) -> None:
    config = training.configuration(train="{num_epochs: 2, batch_size: 8}", optimizer="{use_slow_update: true}")
    here = yard(training.mixed(), config=config)
    await here.train()
    slow = next(r for r in here.steps if r.kind == "slow-update")
    step = next(r for r in here.steps if r.kind == "step" and r.step == slow.step)
    expected = step.document_before if step.decision == "none" else step.document
    assert named(here, str(slow.step)).blob == expected


async def test_what_has_digits_and_is_no_step_is_git_s(here: Yard) -> None:
    here.git("branch", "4711", "main")
    here.git("branch", "feature/3", "main")
    assert named(here, "4711").commit == named(here, "feature/3").commit == here.git("rev-parse", "main")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nowhere", "nowhere: no such revision; name a commit, a step of `skillgit log topics`, or best, tip or base"),
        ("99", "99: no such revision"),
        ("1-7", "1-7: no such revision"),
        ("zzz/1", "zzz/1: no such revision"),
        ("", ": no such revision"),
        ("--help", "'--help' is no revision"),
        ("gone", f"{DOCUMENT} at .*: there is no such file"),
    ],
)
async def test_what_there_is_not(here: Yard, text: str, said: str) -> None:
    here.git("branch", "gone", here.commit_on("main", {DOCUMENT: None}))
    with pytest.raises(SkillgitError, match=said) as caught:
        named(here, text)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("word", ["best", "tip"])
async def test_before_training(yard: MakeYard, word: str) -> None:
    here = yard(TopicWorld(2, 1))
    with pytest.raises(SkillgitError, match="nothing was trained yet; run `skillgit train topics`"):
        named(here, word)
    assert named(here, "base").commit == here.git("rev-parse", "main")
    (here.root / "skillgit.yaml").write_text(training.configuration(into="elsewhere"))
    with pytest.raises(SkillgitError, match="the base branch elsewhere has no commit"):
        named(here, "base")
    (here.root / "skillgit.yaml").write_text(training.configuration(into=None))
    repos.commit(here.root, {"x": "y"})
    assert named(here, "base").commit == here.git("rev-parse", "HEAD")


async def test_a_document_that_moved_since_is_known_by_its_blob(here: Yard) -> None:
    """A step's candidate stands at the path of its run; the skill's document is at another one today."""
    here.git("mv", DOCUMENT, "skills/topics/OTHER.md")
    here.git("commit", "-q", "-m", "Move")
    text = (here.root / "skillgit.yaml").read_text()
    (here.root / "skillgit.yaml").write_text(text.replace(DOCUMENT, "skills/topics/OTHER.md"))
    found = named(here, "1")
    assert (found.blob, found.commit) == (training.journals(here.root)[1][1].document, None)
