"""What both built-in environments promise: fresh splits by seed, no task twice, a seed document without answers."""

from pathlib import Path

import pytest
from support.generators import generator, jsonl, run_generator

from skillgit.document.structure import body
from skillgit.envs.builtin import builtin_root
from skillgit.envs.contract import SPLITS
from skillgit.envs.loading import load_environment

SIZES = {"train": 40, "val": 40, "test": 80}
COMMITTED_SEED = 1
SEEDS = [*range(25), 10**12, -7]
BUILTIN = pytest.mark.parametrize("name", ["opscli", "houseformat"])


@BUILTIN
def test_it_loads_with_the_promised_sizes(name: str) -> None:
    environment = load_environment(builtin_root() / name, label=name)
    assert {split: len(environment.tasks(split)) for split in SPLITS} == SIZES
    assert environment.description.count("\n") == 0


@BUILTIN
def test_the_committed_splits_come_from_the_generator(name: str) -> None:
    folder = builtin_root() / name
    for split, rows in generator(folder).generate(COMMITTED_SEED).items():
        assert (folder / f"{split}.jsonl").read_bytes() == jsonl(rows)


@BUILTIN
def test_the_same_seed_gives_the_same_bytes_in_every_process(name: str, tmp_path: Path) -> None:
    folder = builtin_root() / name
    for hash_seed in ("0", "4711"):
        run_generator(folder, 5, tmp_path / hash_seed, hash_seed)
    for split, rows in generator(folder).generate(5).items():
        assert (tmp_path / "0" / f"{split}.jsonl").read_bytes() == jsonl(rows)
        assert (tmp_path / "4711" / f"{split}.jsonl").read_bytes() == jsonl(rows)


@BUILTIN
def test_other_seeds_give_other_tasks(name: str) -> None:
    module = generator(builtin_root() / name)
    assert len({jsonl(module.generate(seed)["train"]) for seed in SEEDS}) == len(SEEDS)


@BUILTIN
@pytest.mark.parametrize("seed", SEEDS)
def test_no_task_occurs_twice(name: str, seed: int) -> None:
    splits = generator(builtin_root() / name).generate(seed)
    assert {split: len(rows) for split, rows in splits.items()} == SIZES
    rows = [row for split in splits.values() for row in split]
    assert all(set(row) == {"id", "input", "answer"} for row in rows)
    assert len({row["id"] for row in rows}) == len(rows)
    assert len({row["input"] for row in rows}) == len(rows)


@BUILTIN
def test_the_seed_document_holds_no_answer(name: str) -> None:
    folder = builtin_root() / name
    seed = body((folder / "SKILL.md").read_text(encoding="utf-8")).lower()
    assert 0 < len(seed.split()) < 30
    answers = [row["answer"] for rows in generator(folder).generate(COMMITTED_SEED).values() for row in rows]
    assert [answer for answer in answers if answer in seed] == []
