"""Two documents beside each other, with numbers worked out by hand and by the world's rule."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import looking, training
from support.training import BEST_REF, BRANCH, DOCUMENT, SKILL, Yard
from support.truth import passed, share

from skillgit.envs.contract import Split
from skillgit.errors import DocumentError
from skillgit.store.repository import Repository
from skillgit.train.archive.comparing import Compared, Paired, compare, measure, paired
from skillgit.train.archive.revisions import Revision, find
from skillgit.train.scoring.scores import HARD, SOFT, Measurement, Metric, Trial

MakeYard = Callable[..., Yard]


def measured(**tasks: object) -> Measurement:
    """Tasks with their trials' soft scores; `hard` is whether that is 1. None is an error."""
    found: Measurement = {}
    for task, values in tasks.items():
        each = values if isinstance(values, list) else [values]
        found[task] = tuple(None if v is None else Trial(Fraction(int(Fraction(v) == 1)), Fraction(v)) for v in each)
    return found


def test_by_hand() -> None:
    """Differences 1, -1, 1, 0: mean 1/4, sample variance (9+25+9+1)/16 / 3 = 11/12, error sqrt(11/48)."""
    found = paired(measured(a=0, b=1, c=0, d=1), measured(a=1, b=0, c=1, d=1), HARD)
    assert found == Paired(4, Fraction(1, 4), math.sqrt(11 / 48), (("a", 1), ("c", 1)), (("b", -1),))  # type: ignore[arg-type]


def test_repeats_are_a_task_s_mean_and_errors_are_left_out() -> None:
    before = measured(a=[0, 1], b=[None, 1], c=[None], d=[1])
    after = measured(a=[1, 1], b=[0, None], c=[1], d=[None], e=[1])
    found = paired(before, after, HARD)
    assert found is not None
    assert (found.tasks, found.difference) == (2, Fraction(-1, 4))
    assert (found.gained, found.lost) == ((("a", Fraction(1, 2)),), (("b", Fraction(-1)),))
    shown = found.to_json()
    assert shown["gained"] == [{"task": "a", "by": 0.5}]
    assert (shown["difference"], shown["error"], shown["tasks"]) == (-0.25, 0.75, 2)


@pytest.mark.parametrize(("metric", "by"), [(HARD, 0), (SOFT, Fraction(1, 4)), (Metric("mixed"), Fraction(1, 8))])
def test_the_metric_chooses_the_number(metric: Metric, by: Fraction) -> None:
    found = paired(measured(a="1/4"), measured(a="1/2"), metric)
    assert found is not None
    assert (found.difference, found.error, found.tasks) == (by, None, 1)


def test_nothing_to_pair() -> None:
    assert paired(measured(a=None), measured(a=1), HARD) is None
    assert paired(measured(a=1), measured(b=1), HARD) is None


@given(st.dictionaries(st.text(max_size=3), st.tuples(*[st.integers(0, 4)] * 2), min_size=2, max_size=9))
def test_numbers_are_those_of_statistics(tasks: dict[str, tuple[int, int]]) -> None:
    before, after = ({t: (Trial(Fraction(v[n], 4), Fraction(0)),) for t, v in tasks.items()} for n in (0, 1))
    found = paired(before, after, HARD)
    differences = [(b - a) / 4 for a, b in tasks.values()]
    assert found is not None
    assert found.error is not None
    assert float(found.difference) == pytest.approx(statistics.mean(differences))
    assert found.error == pytest.approx(statistics.stdev(differences) / math.sqrt(len(differences)))
    assert {t for t, _ in found.gained} == {t for t, (a, b) in tasks.items() if b > a}
    assert {t for t, _ in found.lost} == {t for t, (a, b) in tasks.items() if b < a}


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """After two runs with acceptances and rejections."""
    root = tmp_path_factory.mktemp("once") / "repo"
    with training.trained_once(root, training.mixed(), ["train.num_epochs=1"], []) as made:
        yield made


@pytest.fixture
def here(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return looking.copied(once, tmp_path / "repo", monkeypatch)


def two(here: Yard, a: str, b: str, split: Split = "val", target: str | None = None) -> Compared:
    blobs = here.git("rev-parse", f"{a}:{DOCUMENT}"), here.git("rev-parse", f"{b}:{DOCUMENT}")
    return compare(Repository.open(here.root), SKILL, blobs, HARD, split, target)


def agrees(here: Yard, found: Compared, a: str, b: str, split: str = "val") -> None:
    """The comparison is what the world's rule gives."""
    before, after = passed(here.world, here.text(a), split), passed(here.world, here.text(b), split)
    assert found.comparable
    assert found.paired is not None
    assert found.paired.difference == share(here.world, here.text(b), split) - share(here.world, here.text(a), split)
    assert [t for t, _ in found.paired.gained] == sorted(t for t in before if after[t] > before[t])
    assert [t for t, _ in found.paired.lost] == sorted(t for t in before if after[t] < before[t])


async def measures(here: Yard, *revs: str, split: Split = "val", target: str | None = None) -> tuple[int, int]:
    """Documents measured, and calls made for it."""
    before = here.server.count
    async with training.session(here.root, optimizer=False, target=target) as session:
        revisions = [find(session.repo, SKILL, session.settings, rev) for rev in revs]
        done = await measure(session, revisions, split)
    return len(done), here.server.count - before


async def test_from_the_journals(here: Yard) -> None:
    agrees(here, two(here, "main", BEST_REF), "main", BEST_REF)
    agrees(here, two(here, BEST_REF, "main"), BEST_REF, "main")
    same = two(here, "main", "main")
    assert same.paired is not None
    assert (same.paired.difference, same.paired.error, same.paired.gained, same.paired.lost) == (0, 0, (), ())


async def test_what_is_missing_is_measured_and_then_known(here: Yard) -> None:
    commit = here.commit_on(BRANCH, {DOCUMENT: here.world.perfect_document()})
    found = two(here, BEST_REF, commit)
    assert (found.comparable, found.paired, found.missing) == (False, None, (False, True))
    assert await measures(here, BEST_REF, commit) == (1, 16)
    agrees(here, two(here, BEST_REF, commit), BEST_REF, commit)
    assert await measures(here, BEST_REF, commit) == (0, 0)


async def test_test_is_looked_up_in_notes_alone(here: Yard) -> None:
    assert two(here, "main", BEST_REF, "test").missing == (True, True)
    assert (await measures(here, "main", BEST_REF, split="test"))[0] == 2
    agrees(here, two(here, "main", BEST_REF, "test"), "main", BEST_REF, "test")
    assert await measures(here, "main", BEST_REF, split="test") == (0, 0)


async def test_another_target_is_measured_for_itself(here: Yard) -> None:
    assert (await measures(here, "main", BEST_REF, target="openai/other"))[0] == 2
    found = two(here, "main", BEST_REF, target="openai/other")
    agrees(here, found, "main", BEST_REF)
    assert {k.target for k in found.known if k} == {"openai/other"}
    mixed = two(here, "main", BEST_REF)
    assert {k.target for k in mixed.known if k} == {"openai/sim"}


async def test_what_was_measured_on_other_tasks_is_measured_on_today_s(here: Yard) -> None:
    """The journal's scores of both are of the old tasks, and still compare with each other."""
    looking.drop_a_val_task(here)
    commit = here.commit_on(BRANCH, {DOCUMENT: here.world.perfect_document()})
    assert (await measures(here, commit))[0] == 1
    found = two(here, BEST_REF, commit)
    assert (found.comparable, found.missing) == (False, (False, False))
    assert (await measures(here, BEST_REF, commit))[0] == 1
    agrees(here, two(here, BEST_REF, commit), BEST_REF, commit)


async def test_a_choice_of_val_tasks_is_the_gate_s(yard: MakeYard) -> None:
    """With `sel_env_num` the journal's scores are of some tasks, and so is what is measured beside them."""
    config = training.configuration(train="{num_epochs: 1, batch_size: 8}", evaluation="{sel_env_num: 5}")
    here = yard(training.mixed(), config=config)
    await here.train()
    commit = here.commit_on(BRANCH, {DOCUMENT: here.world.perfect_document()})
    assert await measures(here, commit) == (1, 5)
    found = two(here, "main", commit)
    assert found.paired is not None
    assert found.paired.tasks == 5


async def test_a_document_that_is_none_is_said_before_any_call(here: Yard) -> None:
    commit = here.commit_on(BRANCH, {DOCUMENT: "---\nname: [\n---\n"})
    before = here.server.count
    with pytest.raises(DocumentError):
        await measures(here, commit)
    assert here.server.count == before


async def test_a_document_that_stands_in_no_commit(here: Yard) -> None:
    blob = here.git("hash-object", "-w", "--stdin", input=here.world.perfect_document())
    async with training.session(here.root, optimizer=False) as session:
        assert await measure(session, [Revision("x", blob, None)], "val") == [blob]
    repo, main = Repository.open(here.root), here.git("rev-parse", f"main:{DOCUMENT}")
    assert compare(repo, SKILL, (main, blob), HARD, "val").comparable
