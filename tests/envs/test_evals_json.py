"""An Agent Skills `evals.json`, as it is."""

import json
import os
from fractions import Fraction

import pytest
from support.environments import Target, load

from skillgit.envs.contract import SPLITS
from skillgit.envs.loading import load_environment
from skillgit.errors import ConfigError


def write(folder, evals, **top):
    (folder / "evals").mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text("---\nname: greeter\n---\nGreet.\n")
    path = folder / "evals" / "evals.json"
    path.write_text(json.dumps({"skill_name": "greeter", "evals": evals, **top}), encoding="utf-8")
    return folder


def evals(count=6, **more):
    check = {"name": "says_it", "type": "contains", "value": "hello"}
    return [{"id": n, "prompt": f"Greet {n}", "assertions": [check], **more} for n in range(count)]


def every(environment):
    return sorted((each for split in SPLITS for each in environment.tasks(split)), key=lambda each: each.id)


def refused(folder) -> str:
    with pytest.raises(ConfigError) as caught:
        load(folder)
    message = str(caught.value)
    assert message.startswith("envs/x/evals/evals.json")
    assert len(message.splitlines()) == 1
    return message


async def test_machine_checkable_assertions_are_scored(tmp_path) -> None:
    found = load(write(tmp_path, evals(expected_output="A friendly greeting", files=[])))
    assert found.scorer == "checks"
    assert "greeter" in found.description
    assert [each.id for each in every(found)] == [str(n) for n in range(6)]
    first = every(found)[0]
    target = Target("Hello there")
    attempt = await found.attempt("Greet.", first, target)
    assert attempt.score.hard == 1
    assert target.requests[0].system == "Greet."
    assert target.requests[0].turns[0].text == "Greet 0"
    assert (await found.attempt("Greet.", first, Target("Bye"))).score.reason == "failed: says_it"
    explained = found.explain(first, await found.attempt("Greet.", first, Target("Bye")))
    assert (explained.kind, explained.text) == ("expected", "A friendly greeting")
    await found.close()


@pytest.mark.parametrize("place", ["", "evals", "evals/evals.json"])
def test_any_of_its_paths_will_do(tmp_path, place) -> None:
    write(tmp_path, evals())
    path = tmp_path / place if place else tmp_path
    found = load_environment(path, label=f"skills/greeter/{place}")
    assert len(every(found)) == 6
    assert every(found)[0].source == "skills/greeter/evals/evals.json: evals[0]"


@pytest.mark.parametrize("count", range(2, 12))
def test_small_files_have_train_and_val(tmp_path, count) -> None:
    found = load(write(tmp_path, evals(count)))
    assert found.tasks("train")
    assert found.tasks("val")


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_evals(tmp_path, count) -> None:
    assert f"evals: {count} are too few" in refused(write(tmp_path, evals(count)))


FORMS = {
    "contains": ({"type": "contains", "value": "x"}, "contains"),
    "not-contains": ({"type": "not-contains", "value": "x"}, "not_contains"),
    "equals": ({"type": "equals", "value": "x"}, "exact"),
    "matches": ({"type": "matches", "value": "x+"}, "regex"),
    "own": ({"op": "contains", "arg": "x", "name": "n"}, "contains"),
    "words": ('The output includes "x"', "contains"),
    "words-single": ("Output contains the text 'x'.", "contains"),
    "words-typographic": ("The reply must mention “x”", "contains"),
    "words-not": ("The response does not mention `x`.", "not_contains"),
    "text-object": ({"text": "The answer should not contain 'x'"}, "not_contains"),
}


@pytest.mark.parametrize(("form", "op"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("key", ["expectations", "assertions"])
def test_forms_that_a_program_can_check(tmp_path, form, op, key) -> None:
    some = [{"id": n, "prompt": f"p{n}", key: [form]} for n in range(4)]
    (check,) = every(load(write(tmp_path, some)))[0].fields["checks"]
    assert check["op"] == op
    assert check["arg"].startswith("x")


async def test_all_expectations_count(tmp_path) -> None:
    both = {"expectations": ['Output contains "a"'], "assertions": [{"type": "contains", "value": "b"}]}
    found = load(write(tmp_path, [{"id": n, "prompt": f"p{n}", **both} for n in range(4)]))
    attempt = await found.attempt("", every(found)[0], Target("only a"))
    assert (attempt.score.hard, attempt.score.soft) == (0, Fraction(1, 2))


FAULTS = {
    "judge": ({"expectations": ["The tone is warm"]}, "evals[1]: expectations[0]: 'The tone is warm' needs a judge"),
    "judge-unquoted": ({"expectations": ["The output includes a chart"]}, "needs a judge"),
    "one-of-two": ({"assertions": [{"type": "contains", "value": "x"}, "It is good"]}, "assertions[1]: 'It is good'"),
    "unknown-type": ({"assertions": [{"type": "llm", "value": "x"}]}, "assertions[0]: no type with a value"),
    "no-value": ({"assertions": [{"type": "contains"}]}, "assertions[0]: no type with a value"),
    "number": ({"assertions": [3]}, "assertions[0]: neither a text nor an object"),
    "not-a-list": ({"assertions": "x"}, "assertions: not a list"),
    "bad-regex": ({"assertions": [{"type": "regex", "value": "("}]}, "evals[1]: checks"),
    "description-only": ({"expected_output": "A good greeting"}, "expected_output only describes success"),
    "nothing": ({}, "nothing to check"),
    "no-prompt": ({"prompt": None}, "evals[1]: prompt: missing"),
    "empty-prompt": ({"prompt": " "}, "evals[1]: prompt: missing, empty"),
    "id-twice": ({"id": 0, "assertions": [{"type": "contains", "value": "x"}]}, "id: '0' is also the id of"),
    "id-list": ({"id": [1], "assertions": [{"type": "contains", "value": "x"}]}, "evals[1]: id: [1] is not a text"),
    "no-id": ({"id": None, "assertions": [{"type": "contains", "value": "x"}]}, "evals[1]: id: missing"),
    "files": ({"files": "a.txt"}, "files: not a list"),
    "file-missing": ({"files": ["evals/files/no.txt"]}, "no.txt is not there"),
    "file-out": ({"files": ["../../x"]}, "leads out of the skill's folder"),
    "file-binary": ({"files": ["evals/b.bin"]}, "not UTF-8"),
    "file-large": ({"files": ["evals/large.txt"]}, "too large"),
}


@pytest.mark.parametrize(("change", "said"), FAULTS.values(), ids=FAULTS)
def test_faults_name_the_eval(tmp_path, change, said) -> None:
    item = {**evals(2)[1], **change}
    if not {"expectations", "assertions", "files", "prompt"} & set(change):
        item = {key: value for key, value in item.items() if key != "assertions"}
    if "expectations" in change:
        del item["assertions"]
    item = {key: value for key, value in item.items() if value is not None}
    folder = write(tmp_path, [evals(1)[0], item, *evals(9)[2:]])
    (folder / "evals" / "b.bin").write_bytes(b"\xff\xfe\x00")
    (folder / "evals" / "large.txt").write_text("x" * 300_000)
    assert said in refused(folder)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "evals.json:1: not JSON"),
        ('{"evals": 3}', "no list of evals"),
        ("[]", "no list of evals"),
        ('{"evals": [3]}', "evals[0]: not an object"),
        ('{"evals": [], "evals": []}', "stands twice"),
    ],
)
def test_files_that_are_not_in_the_format(tmp_path, text, said) -> None:
    write(tmp_path, [])
    (tmp_path / "evals" / "evals.json").write_text(text)
    assert said in refused(tmp_path)


def test_text_files_follow_the_prompt(tmp_path) -> None:
    folder = write(tmp_path, evals(4, files=["evals/files/names.txt"]))
    (folder / "evals" / "files").mkdir()
    (folder / "evals" / "files" / "names.txt").write_text("Ann {skill}\nBob\n")
    before = every(load(folder))[0]
    assert before.input == 'Greet 0\n\n<file name="evals/files/names.txt">\nAnn {skill}\nBob\n</file>'
    (folder / "evals" / "files" / "names.txt").write_text("Cid\n")
    assert every(load(folder))[0].digest != before.digest


def test_a_file_linked_from_elsewhere_is_refused(tmp_path) -> None:
    (tmp_path / "secret").write_text("x")
    folder = write(tmp_path / "skill", evals(4, files=["evals/in.txt"]))
    os.symlink(tmp_path / "secret", folder / "evals" / "in.txt")
    assert "leads out" in refused(folder)


async def test_an_env_yaml_says_that_the_expected_output_is_the_answer(tmp_path) -> None:
    some = [{"id": n, "prompt": f"2 + {n}?", "expected_output": f"{2 + n}"} for n in range(10)]
    folder = write(tmp_path, some)
    (folder / "evals" / "env.yaml").write_text(
        "version: 1\nscorer: exact\ntasks: {all: evals.json, ratio: [1, 1, 1]}\n"
    )
    found = load(folder)
    assert len(every(found)) == 10
    assert (await found.attempt("", every(found)[1], Target("3"))).score.hard == 1
    assert (await found.attempt("", every(found)[1], Target("13"))).score.hard == 0


def test_there_expectations_would_be_left_unscored(tmp_path) -> None:
    folder = write(tmp_path, evals(expected_output="hello"))
    (folder / "evals" / "env.yaml").write_text("version: 1\nscorer: exact\ntasks: {all: evals.json}\n")
    assert "assertions[0]: not scored" in refused(folder)


def test_keys_of_other_tools_are_left_alone(tmp_path) -> None:
    folder = write(tmp_path, evals(should_trigger=True), version="2", **{"$schema": "x"})
    assert len(every(load(folder))) == 6
