"""From a folder to an environment."""

import os
from pathlib import Path

import pytest
from support.environments import Target, load, rows, write_env

from skillgit.envs.loading import load_environment
from skillgit.errors import ConfigError


@pytest.mark.parametrize("file", ["", "env.yaml"])
def test_a_folder_or_its_env_yaml(tmp_path, file) -> None:
    write_env(tmp_path, "description: ' Small. '\n")
    found = load_environment(tmp_path / file, label=f"envs/x/{file}")
    assert found.description == "Small."
    assert found.tasks("train")[0].source == "envs/x/train.jsonl:1"


def test_what_the_issue_asks_of_each_scorer_works_from_files(tmp_path) -> None:
    names = {"exact": "", "f1": "", "numeric": "tolerance: 1\n", "checks": "checks: [{op: contains, arg: word}]\n"}
    some = [[{"id": f"{p}{n}", "input": f"{p} {n}", "answer": str(n)} for n in range(2)] for p in "ab"]
    for name, more in names.items():
        found = load(write_env(tmp_path / name, f"scorer: {name}\n{more}", train=some[0], val=some[1]))
        assert found.scorer == name


async def test_a_python_scorer_beside_env_yaml(tmp_path) -> None:
    code = "def score(reply, task):\n    return {'soft': len(reply) / 10, 'reason': task['id']}\n"
    found = load(write_env(tmp_path, "scorer: python:score.py\n", files={"score.py": code}))
    attempt = await found.attempt("", found.tasks("train")[0], Target("12345"))
    await found.close()
    assert (float(attempt.score.soft), attempt.score.reason) == (0.5, "train-0")
    assert found.scorer == "python:score.py"


async def test_reports_of_a_python_scorer_reach_the_caller_only_as_reveal_allows(tmp_path) -> None:
    code = "def score(reply, task):\n    return {'soft': 0, 'reason': 'too short'}\n"
    folder = write_env(tmp_path, "scorer: python:score.py\nreveal: reason\n", files={"score.py": code})
    found = load(folder)
    task = found.tasks("train")[0]
    assert found.explain(task, await found.attempt("", task, Target("x"))).text == "too short"
    await found.close()


FAULTS = {
    "missing-scorer": (
        "scorer: python:scorer.py\n",
        {"score.py": ""},
        "there is no file scorer.py; did you mean 'score.py'?",
    ),
    "no-function": ("scorer: python:score.py\n", {"score.py": "x = 1\n"}, "envs/x/score.py: loading failed"),
    "bad-checks": ("scorer: checks\nchecks: [{op: conatins, arg: x}]\n", {}, "checks"),
    "no-checks": ("scorer: checks\n", {}, "envs/x/train.jsonl:1: checks: 'train-0' has none"),
    "tool-never-called": ("scorer: checks\nchecks: [{op: tool_called, arg: Bash}]\n", {}, "can never pass"),
    "not-a-number": ("scorer: numeric\n", {}, "envs/x/train.jsonl:1: answer: 'word 0' is not a number"),
}


@pytest.mark.parametrize(("settings", "files", "said"), FAULTS.values(), ids=FAULTS)
def test_faults_are_found_when_loading(tmp_path, settings, files, said) -> None:
    with pytest.raises(ConfigError) as caught:
        load(write_env(tmp_path, settings, files=files))
    assert said in str(caught.value)
    assert str(caught.value).startswith("envs/x/")


def test_the_test_split_is_checked_as_well(tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"^envs/x/test.jsonl:1: answer: nothing is left"):
        load(write_env(tmp_path, test=rows("test", 1, answer="The.")))


def test_an_environment_that_is_not_there(tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"^envs/x: there is no env.yaml and no evals/evals.json"):
        load(tmp_path / "no")
    (tmp_path / "env.yml").write_text("version: 1\n")
    with pytest.raises(ConfigError, match=r"is 'env.yml' meant to be env.yaml\?"):
        load(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(ConfigError, match=r"^envs/x: not an environment"):
        load(tmp_path / "notes.txt")


def test_an_env_yaml_that_is_not_utf_8_or_leads_elsewhere(tmp_path) -> None:
    folder = write_env(tmp_path / "a")
    (folder / "env.yaml").write_bytes(b"version: 1\ndescription: \xe9\n")
    with pytest.raises(ConfigError, match=r"^envs/x/env.yaml:2: not UTF-8"):
        load(folder)
    (folder / "env.yaml").rename(tmp_path / "env.yaml")
    os.symlink(tmp_path / "env.yaml", folder / "env.yaml")
    with pytest.raises(ConfigError, match="leads out of the folder"):
        load(folder)


def test_windows_files_are_the_same_environment(tmp_path) -> None:
    unix = write_env(tmp_path / "unix", "extract: last_line\n", test=rows("test", 1))
    windows = tmp_path / "windows"
    windows.mkdir()
    for path in unix.iterdir():
        (windows / path.name).write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    a, b = load(unix), load(windows)
    assert a.digest == b.digest
    assert [task.digest for task in a.tasks("val")] == [task.digest for task in b.tasks("val")]


def test_loading_does_not_depend_on_the_working_folder(tmp_path, monkeypatch) -> None:
    write_env(tmp_path / "env")
    monkeypatch.chdir(tmp_path)
    assert load_environment(Path("env"), label="env").tasks("val")
