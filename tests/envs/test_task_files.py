"""Splits from files: where they lie, what they share, and what a prompt needs of them."""

import os

import pytest
from support.environments import load, rows, task, write_env, write_rows

from skillgit.envs.contract import SPLITS
from skillgit.envs.splits import split_of
from skillgit.envs.task_files import check_splits, deal, inside
from skillgit.errors import ConfigError


def ids(environment, split) -> list[str]:
    return [each.id for each in environment.tasks(split)]


def refused(folder) -> str:
    with pytest.raises(ConfigError) as caught:
        load(folder)
    message = str(caught.value)
    assert message.startswith("envs/x")
    assert len(message.splitlines()) == 1
    return message


def test_files_by_their_usual_names_in_file_order(tmp_path) -> None:
    found = load(write_env(tmp_path, train=rows("train", 12)))
    assert ids(found, "train") == [f"train-{n}" for n in range(12)]
    assert ids(found, "test") == []
    write_rows(tmp_path / "test.jsonl", rows("test", 2))
    assert ids(load(tmp_path), "test") == ["test-0", "test-1"]


def test_named_files(tmp_path) -> None:
    settings = "tasks: {train: data/a.jsonl, val: data/b.jsonl}\n"
    write_env(tmp_path, settings, test=rows("ignored", 1), files={"data/a.jsonl": "", "data/b.jsonl": ""})
    write_rows(tmp_path / "data/a.jsonl", rows("a", 1))
    write_rows(tmp_path / "data/b.jsonl", rows("b", 1))
    found = load(tmp_path)
    assert [ids(found, split) for split in SPLITS] == [["a-0"], ["b-0"], []]


def test_one_file_is_dealt_by_ids(tmp_path) -> None:
    write_env(tmp_path, "tasks: {all: tasks.jsonl, ratio: [1, 1, 1], seed: 5}\n")
    write_rows(tmp_path / "tasks.jsonl", rows("t", 30))
    found = load(tmp_path)
    assert sum(len(ids(found, split)) for split in SPLITS) == 30
    assert all(split_of(each, (1, 1, 1), 5) == split for split in SPLITS for each in ids(found, split))
    before = {split: ids(found, split) for split in SPLITS}
    write_rows(tmp_path / "tasks.jsonl", rows("new", 9) + rows("t", 30))
    assert all([i for i in ids(load(tmp_path), s) if i.startswith("t-")] == before[s] for s in SPLITS)


def test_an_empty_test_file_is_fine(tmp_path) -> None:
    assert ids(load(write_env(tmp_path, test=[])), "test") == []


@pytest.mark.parametrize("split", ["train", "val"])
def test_an_empty_split_is_refused(tmp_path, split) -> None:
    assert f"the split {split} has no tasks" in refused(write_env(tmp_path, **{split: []}))


def test_too_few_tasks_to_deal(tmp_path) -> None:
    write_env(tmp_path, "tasks: {all: tasks.jsonl}\n")
    write_rows(tmp_path / "tasks.jsonl", rows("t", 1))
    assert "has no tasks" in refused(tmp_path)


def test_a_missing_file_names_the_nearest(tmp_path) -> None:
    write_env(tmp_path)
    (tmp_path / "val.jsonl").rename(tmp_path / "vals.jsonl")
    message = refused(tmp_path)
    assert message.startswith("envs/x/env.yaml: tasks.val: there is no file val.jsonl")
    assert "did you mean 'vals.jsonl'?" in message


@pytest.mark.parametrize("folder", ["", "data/"])
def test_a_missing_file_is_not_meant_to_be_another_splits(tmp_path, folder) -> None:
    splits = ", ".join(f"{split}: {folder}{split}.jsonl" for split in SPLITS)
    files = {f"{folder}{name}.jsonl": "" for name in ("train", "val")}
    write_env(tmp_path, f"tasks: {{{splits}}}\n", files=files)
    for split in ("train", "val"):
        write_rows(tmp_path / f"{folder}{split}.jsonl", rows(split, 1))
    assert refused(tmp_path).endswith(f"there is no file {folder}test.jsonl; write it, or change the path")
    write_rows(tmp_path / f"{folder}tests.jsonl", rows("test", 1))
    assert refused(tmp_path).endswith("; did you mean 'tests.jsonl'?")


def test_a_folder_is_no_file(tmp_path) -> None:
    write_env(tmp_path)
    (tmp_path / "test.jsonl").mkdir()
    assert "tasks.test: test.jsonl is not a file" in refused(tmp_path)


def test_a_link_out_of_the_folder_is_refused_and_one_inside_is_fine(tmp_path) -> None:
    folder = write_env(tmp_path / "env")
    (folder / "val.jsonl").rename(tmp_path / "outside.jsonl")
    os.symlink(tmp_path / "outside.jsonl", folder / "val.jsonl")
    assert "tasks.val: val.jsonl leads out of the folder" in refused(folder)
    (folder / "val.jsonl").unlink()
    (tmp_path / "outside.jsonl").rename(folder / "real.jsonl")
    os.symlink("real.jsonl", folder / "val.jsonl")
    assert len(ids(load(folder), "val")) == 3


def test_a_linked_folder_inside_is_followed_only_so_far(tmp_path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "a.jsonl").write_text("")
    (tmp_path / "env").mkdir()
    os.symlink(tmp_path / "away", tmp_path / "env" / "data")
    with pytest.raises(ConfigError, match="leads out"):
        inside(tmp_path / "env", "data/a.jsonl", "x")


SHARED = {
    "id": ({"id": "train-1", "input": "new", "answer": "x"}, "val.jsonl:4: id: 'train-1' is also the id of"),
    "input": ({"id": "new", "input": "train 1?", "answer": "x"}, "val.jsonl:4: input: the split val has the task of"),
    "spaces": ({"id": "new", "input": " train\n1? ", "answer": "x"}, "val.jsonl:4: input: the split val has"),
}


@pytest.mark.parametrize(("row", "said"), SHARED.values(), ids=SHARED)
def test_splits_that_share_a_task_name_both_places(tmp_path, row, said) -> None:
    message = refused(write_env(tmp_path, val=[*rows("val", 3), row]))
    assert said in message
    assert "envs/x/train.jsonl:2" in message


def test_test_may_not_share_either(tmp_path) -> None:
    assert "test.jsonl:1" in refused(write_env(tmp_path, test=rows("val", 1)))


def test_one_file_twice_is_refused(tmp_path) -> None:
    write_env(tmp_path, "tasks: {train: train.jsonl, val: train.jsonl}\n")
    assert "is also the id of" in refused(tmp_path)


def test_unicode_has_two_ways_to_write_a_letter() -> None:
    tasks = {"train": (task(id="a", input="caf\u00e9"),), "val": (task(id="b", input="cafe\u0301"),)}
    with pytest.raises(ConfigError, match="the split val has the task of"):
        check_splits(tasks, "x", ["input"])


def test_tasks_differ_by_all_that_the_prompt_shows(tmp_path) -> None:
    train = [*rows("train", 2), {"id": "q", "input": "who?", "text": "Ann came", "answer": "Ann"}]
    val = [*rows("val", 2), {"id": "r", "input": "who?", "text": "Bob came", "answer": "Bob"}]
    for each in train + val:
        each.setdefault("text", "-")
    assert load(write_env(tmp_path / "a", 'prompt: "{text} {input}"\n', train=train, val=val))
    assert "the split val has the task of" in refused(write_env(tmp_path / "b", train=train, val=val))


def test_the_same_input_twice_in_one_split_is_fine(tmp_path) -> None:
    again = {"id": "again", "input": "train 0?", "answer": "word 0"}
    assert len(ids(load(write_env(tmp_path, train=[*rows("train", 3), again])), "train")) == 4


def test_a_placeholder_that_no_row_has_names_the_nearest(tmp_path) -> None:
    message = refused(write_env(tmp_path, 'prompt: "{inptu}"\n'))
    assert message.startswith("envs/x/env.yaml: prompt: {inptu} is no field of the tasks")
    assert "did you mean {input}?" in message


@pytest.mark.parametrize("value", [None, ["a"], {"a": 1}, True])
def test_a_row_without_text_for_a_placeholder_is_named(tmp_path, value) -> None:
    val = [*rows("val", 2, level=2), {"id": "v", "input": "x", "answer": "y", "level": value}]
    message = refused(write_env(tmp_path, 'prompt: "{level} {input}"\n', train=rows("train", 2, level=1.5), val=val))
    assert message.startswith("envs/x/val.jsonl:3: level: ")


def test_deal_keeps_every_task() -> None:
    tasks = [task(id=f"t{n}") for n in range(50)]
    dealt = deal(tasks, (1, 1, 1), 3)
    assert sorted(each.id for some in dealt.values() for each in some) == sorted(each.id for each in tasks)
