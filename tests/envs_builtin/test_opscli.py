from collections.abc import Mapping

import pytest
from support.generators import Rows, generator

from skillgit.envs.builtin import builtin_root

GENERATOR = generator(builtin_root() / "opscli")
SEEDS = [*range(25), 10**12, -7]


def combination(row: Mapping[str, str]) -> tuple[str, str]:
    """The verb and the option of a command."""
    words = row["answer"].split()
    return words[1], words[4]


def combinations(rows: Rows) -> set[tuple[str, str]]:
    return {combination(row) for row in rows}


@pytest.mark.parametrize("seed", SEEDS)
def test_at_least_half_of_the_test_asks_for_combinations_that_train_lacks(seed: int) -> None:
    splits = GENERATOR.generate(seed)
    known = combinations(splits["train"])
    new = [row for row in splits["test"] if combination(row) not in known]
    assert 2 * len(new) >= len(splits["test"])
    assert 2 * len([row for row in splits["val"] if combination(row) not in known]) == len(splits["val"])


@pytest.mark.parametrize("seed", SEEDS)
def test_train_has_every_part_of_a_command_several_times(seed: int) -> None:
    """Else there would be tasks in val and test that nobody can learn from train."""
    train = GENERATOR.generate(seed)["train"]
    words = [row["answer"].split() for row in train]
    for part, known in ((1, GENERATOR.VERBS), (4, GENERATOR.OPTIONS), (3, GENERATOR.PLACES)):
        counts = {word: sum(w[part].lstrip("@+") == word for w in words) for word in known}
        assert min(counts.values()) >= 5, counts


@pytest.mark.parametrize("seed", SEEDS)
def test_no_command_occurs_twice(seed: int) -> None:
    """A second wording of a known request would be in the document already."""
    commands = [row["answer"] for rows in GENERATOR.generate(seed).values() for row in rows]
    assert len(set(commands)) == len(commands)


def test_a_request_says_all_that_its_command_has() -> None:
    asked = {
        "verb": {wording: verb for verb, wordings in GENERATOR.VERBS.items() for wording in wordings},
        "place": {wording: place for place, wording in GENERATOR.PLACES.items()},
        "option": {wording: option for option, wordings in GENERATOR.OPTIONS.items() for wording in wordings},
    }
    for rows in GENERATOR.generate(8).values():
        for row in rows:
            _, verb, service, place, option = row["answer"].split()
            before, after = row["input"].split(f" {service} ")
            where = next(wording for wording in asked["place"] if after.startswith(f"{wording} "))
            assert asked["verb"][before] == verb
            assert f"@{asked['place'][where]}" == place
            assert f"+{asked['option'][after.removeprefix(f'{where} ')]}" == option
