"""`env.yaml` is read strictly; each fault names file, line and key."""

import pytest

from skillgit.envs.settings import parse
from skillgit.errors import ConfigError


def read(text: str):
    return parse("version: 1\n" + text, "envs/x/env.yaml")


def test_only_the_version_is_needed() -> None:
    settings = read("")
    assert settings.model_dump() == {
        "version": 1,
        "description": "",
        "tasks": None,
        "system": "{skill}",
        "prompt": "{input}",
        "extract": "whole",
        "scorer": "exact",
        "checks": None,
        "normalize": "text",
        "tolerance": None,
        "reveal": "answer",
        "reply_tokens": None,
    }


def test_the_example_of_the_design_is_read() -> None:
    settings = read(
        "description: One line that a person understands.\n"
        "tasks: {train: train.jsonl, val: val.jsonl, test: test.jsonl}\n"
        'system: "{skill}"\nprompt: "{input}"\nextract: answer_tag\nscorer: exact\nnormalize: text\nreveal: answer\n'
    )
    assert settings.tasks.test == "test.jsonl"
    assert settings.extract == "answer_tag"


GOOD = [
    "tasks: {all: tasks.jsonl, ratio: [6, 2, 2], seed: 42}",
    "tasks: {all: tasks.jsonl}",
    "tasks: {all: tasks.jsonl, ratio: [0.5, 0.5, 0]}",
    "tasks: {train: a/train.jsonl, val: b.jsonl}",
    "scorer: python:score.py",
    "scorer: python:lib/score.py",
    "scorer: numeric\ntolerance: 0.5",
    "scorer: numeric\ntolerance: 1",
    "scorer: checks\nchecks: [{op: no_refusal}]\nnormalize: none",
    "extract: json:a.b",
    "reply_tokens: 40",
    'prompt: "{skill} {input}"\nsystem: ""',
    'prompt: "{{answer}} {input} {\\"a\\": 1}"',
]


@pytest.mark.parametrize("text", GOOD)
def test_good(text) -> None:
    assert read(text).version == 1


BAD = {
    "unknown-key": ("extrct: whole", "unknown key 'extrct'; did you mean 'extract'?"),
    "unknown-task-key": ("tasks:\n  trian: a.jsonl\n  val: b.jsonl", "'tasks.trian'; did you mean 'train'?"),
    "duplicate-key": ("scorer: f1\nscorer: exact", "stands twice"),
    "scorer": ("scorer: exat", "did you mean exact?"),
    "scorer-unlike": ("scorer: zzz", "known are exact, f1"),
    "scorer-type": ("scorer: 1", "scorer: input should be a valid string"),
    "judge": ("scorer: judge", "needs a judge model, which this version cannot use yet"),
    "python-no-file": ("scorer: 'python:'", "no file"),
    "python-other": ("scorer: python:score.sh", "no Python file"),
    "python-out": ("scorer: python:../score.py", "no file of the environment's folder"),
    "extract": ("extract: tag", "no extraction"),
    "normalize": ("normalize: lower", "normalize"),
    "normalize-unused": ("scorer: numeric\nnormalize: none", "does nothing"),
    "normalize-python": ("scorer: python:s.py\nnormalize: text", "does nothing"),
    "reveal": ("reveal: all", "reveal"),
    "tolerance-elsewhere": ("tolerance: 1", "`tolerance` belongs to scorer: numeric"),
    "tolerance-negative": ("scorer: numeric\ntolerance: -1", "tolerance"),
    "tolerance-infinite": ("scorer: numeric\ntolerance: .inf", "tolerance"),
    "tolerance-truth": ("scorer: numeric\ntolerance: true", "tolerance"),
    "checks-elsewhere": ("checks: [{op: no_refusal}]", "`checks` belongs to scorer: checks"),
    "reply-tokens": ("reply_tokens: 0", "reply_tokens"),
    "description-lines": ("description: |\n  a\n  b", "more than one line"),
    "prompt-type": ("prompt: [a]", "prompt: input should be a valid string"),
    "prompt-answer": ('prompt: "{input} {answer}"', "{answer} would tell the target the truth"),
    "prompt-checks": ('prompt: "{input} {checks}"', "{checks} would tell"),
    "system-answer": ('system: "{skill} {answer}"', "{answer} would tell"),
    "system-field": ('system: "{skill} {topic}"', "`system` holds {topic}"),
    "no-skill": ('system: "help"', "holds {skill}"),
    "no-task": ('prompt: "go on {{input}}"', "no field of the task"),
    "tasks-mixed": ("tasks: {all: a.jsonl, val: b.jsonl}", "`all` stands beside `val`"),
    "tasks-none": ("tasks: {}", "`train` is missing"),
    "tasks-no-val": ("tasks: {train: a.jsonl}", "`val` is missing"),
    "ratio-alone": ("tasks: {train: a.jsonl, val: b.jsonl, ratio: [1, 1, 1]}", "belong to `all`"),
    "ratio-two": ("tasks: {all: a.jsonl, ratio: [1, 1]}", "three numbers"),
    "ratio-empty": ("tasks: {all: a.jsonl, ratio: []}", "three numbers"),
    "ratio-nan": ("tasks: {all: a.jsonl, ratio: [1, 1, .nan]}", "three numbers"),
    "ratio-no-val": ("tasks: {all: a.jsonl, ratio: [1, 0, 1]}", "three numbers"),
    "ratio-text": ("tasks: {all: a.jsonl, ratio: ['6', 2, 2]}", "tasks.ratio"),
    "seed": ("tasks: {all: a.jsonl, seed: 1.5}", "tasks.seed"),
    "file-up": ("tasks: {train: ../a.jsonl, val: b.jsonl}", "no file of the environment's folder"),
    "file-absolute": ("tasks: {train: /a.jsonl, val: b.jsonl}", "no file of the environment's folder"),
    "file-drive": ("tasks: {train: 'c:/a.jsonl', val: b.jsonl}", "no file of the environment's folder"),
    "file-backslash": ("tasks: {train: 'a\\b.jsonl', val: b.jsonl}", "no file of the environment's folder"),
    "file-empty": ("tasks: {train: '', val: b.jsonl}", "no file of the environment's folder"),
}


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=BAD)
def test_bad(text, said) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)
    message = str(caught.value)
    assert said in message
    assert message.startswith("envs/x/env.yaml:")
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize("text", ["", "- 1", "just words"])
def test_a_file_that_is_no_mapping(text) -> None:
    with pytest.raises(ConfigError, match=r"env.yaml:1: the file is not a mapping"):
        parse(text, "env.yaml")


@pytest.mark.parametrize("version", ["2", "'1'", "one"])
def test_other_versions(version) -> None:
    with pytest.raises(ConfigError, match=r"env.yaml:1: version"):
        parse(f"version: {version}\n", "env.yaml")


def test_the_version_is_required() -> None:
    with pytest.raises(ConfigError, match="'version' is missing"):
        parse("scorer: exact\n", "env.yaml")
