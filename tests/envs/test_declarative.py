"""One attempt: what the target is told, what is scored, what the optimizer may see."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.environments import Target, load, rows, write_env

from skillgit.envs.contract import Attempt, Score, Task
from skillgit.envs.declarative import DeclarativeEnvironment, EnvironmentSpec
from skillgit.envs.scorers import AnswerScorer
from skillgit.envs.settings import parse
from skillgit.errors import ModelError
from skillgit.models.base import Reply, Turn, Usage


def environment(tmp_path, settings="", **more):
    return load(write_env(tmp_path, settings, **more))


async def test_an_attempt(tmp_path) -> None:
    own = environment(tmp_path, "extract: answer_tag\nreply_tokens: 40\nsystem: 'Do as told.\n\n  {skill}'\n")
    task = own.tasks("train")[1]
    target = Target("so <answer>Word 1.</answer>")
    attempt = await own.attempt("# Rules\n", task, target)
    assert attempt.score == Score(Fraction(1), Fraction(1), "the answer is right")
    assert (attempt.reply, attempt.answer) == ("so <answer>Word 1.</answer>", "Word 1.")
    assert attempt.usage == Usage(1, 10, 0, 2)
    assert attempt.transcript == (Turn("user", "train 1?"), Turn("assistant", "so <answer>Word 1.</answer>"))
    (request,) = target.requests
    assert request.system == "Do as told.\n# Rules\n"
    assert request.turns == (Turn("user", "train 1?"),)
    assert request.max_tokens == 40
    assert own.scorer == "exact"
    await own.close()


async def test_the_system_prompt_is_the_same_for_every_task(tmp_path) -> None:
    own = environment(tmp_path)
    target = Target("x")
    for task in own.tasks("train"):
        await own.attempt("document with {input}\n", task, target)
    assert {request.system for request in target.requests} == {"document with {input}\n"}
    assert len({request.turns for request in target.requests}) == 3


@given(st.text(), st.text(min_size=1), st.text())
def test_neither_document_nor_task_is_read_as_a_template(skill, text, extra) -> None:
    settings = parse('version: 1\nsystem: "[{skill}]"\nprompt: "{skill}<{extra}|{input}>"\n', "x")
    spec = EnvironmentSpec(None, "x", settings, {}, AnswerScorer("exact"), {})  # type: ignore[arg-type]
    row = {"id": "t", "input": text, "extra": extra, "skill": "a row's own"}
    request = DeclarativeEnvironment(spec).request(skill, Task("t", text, (), row, "", "x:1"))
    assert request.system == f"[{skill}]"
    assert request.turns[0].text == f"{skill}<{extra}|{text}>"


async def test_numbers_of_a_row_go_into_the_prompt(tmp_path) -> None:
    own = environment(
        tmp_path,
        'prompt: "{input} ({level}, {share})"\n',
        train=rows("a", 1, level=3, share=0.5),
        val=rows("b", 1, level=1, share=2),
    )
    assert own.request("", own.tasks("train")[0]).turns[0].text == "a 0? (3, 0.5)"


@pytest.mark.parametrize(
    ("reply", "hard", "said"),
    [
        (Reply("<answer>word 0</answer> and", complete=False), 1, "the answer is right; the reply was cut off"),
        (Reply("<answer>wor", complete=False), 0, "not closed; the reply was cut off at the token limit"),
        (Reply("", refused=True), 0, "the reply is empty; the model declined to answer"),
        (Reply("word 0"), 0, "no <answer> tag"),
    ],
)
async def test_cut_off_and_refused_replies_are_scored_and_it_is_said(tmp_path, reply, hard, said) -> None:
    own = environment(tmp_path, "extract: answer_tag\n")
    attempt = await own.attempt("", own.tasks("train")[0], Target(reply))
    assert attempt.score.hard == hard
    assert said in attempt.score.reason


async def test_nothing_extracted_is_no_success_even_for_checks_that_only_forbid(tmp_path) -> None:
    settings = "extract: answer_tag\nscorer: checks\nchecks: [{op: not_contains, arg: sorry}]\n"
    own = environment(tmp_path, settings)
    attempt = await own.attempt("", own.tasks("train")[0], Target("no tags"))
    assert (attempt.score.hard, attempt.score.soft) == (0, 0)


async def test_a_failing_target_is_the_callers_matter(tmp_path) -> None:
    own = environment(tmp_path)

    async def dead(_):
        raise ModelError("no connection")

    with pytest.raises(ModelError):
        await own.attempt("", own.tasks("train")[0], dead)


def attempt(reason: str) -> Attempt:
    return Attempt("r", "r", Score(Fraction(0), Fraction(0), reason))


REVEAL = {
    "answer": ("answer", {}, "wrong", ("expected", "word 0")),
    "answer-first-of-many": ("answer", {"answer": ["one", "two"]}, "wrong", ("expected", "one")),
    "answer-without": ("answer", {"answer": None}, "wrong", ("reason", "wrong")),
    "reason": ("reason", {}, "wrong", ("reason", "wrong")),
    "reason-without": ("reason", {}, "", ("nothing", "")),
    "nothing": ("nothing", {}, "wrong", ("nothing", "")),
}


@pytest.mark.parametrize(("reveal", "change", "reason", "shown"), REVEAL.values(), ids=REVEAL)
def test_the_optimizer_sees_what_reveal_allows(tmp_path, reveal, change, reason, shown) -> None:
    train = [{**row, **change, "checks": [{"op": "contains", "arg": "x"}]} for row in rows("train", 1)]
    own = environment(tmp_path, f"reveal: {reveal}\n", train=train)
    found = own.explain(own.tasks("train")[0], attempt(reason))
    assert (found.kind, found.text) == shown


BASE = 'system: "{skill}"\nprompt: "{input}"\n'
CHANGES = {
    "system": 'system: "x {skill}"\nprompt: "{input}"\n',
    "prompt": 'system: "{skill}"\nprompt: "x {input}"\n',
    "extract": BASE + "extract: last_line\n",
    "scorer": BASE + "scorer: f1\n",
    "normalize": BASE + "normalize: none\n",
    "reply-tokens": BASE + "reply_tokens: 9\n",
    "checks": BASE + "scorer: checks\nchecks: [{op: no_refusal}]\n",
    "other-checks": BASE + "scorer: checks\nchecks: [{op: min_chars, arg: 2}]\n",
}


def test_the_digest_covers_what_makes_a_score_and_nothing_else(tmp_path) -> None:
    settings = {"base": BASE, **CHANGES}
    digests = {name: environment(tmp_path / name, text).digest for name, text in settings.items()}
    assert len(set(digests.values())) == len(settings)
    assert all(len(digest) == 64 for digest in digests.values())
    for name, text in {"a": "description: x\n", "b": "reveal: nothing\n", "c": "tasks: {all: all.jsonl}\n"}.items():
        files = {
            "all.jsonl": (tmp_path / "base" / "train.jsonl").read_text() + (tmp_path / "base" / "val.jsonl").read_text()
        }
        write = write_env(tmp_path / name, BASE + text, files=files)
        if name == "c":
            (write / "env.yaml").write_text("version: 1\ntasks: {all: all.jsonl, ratio: [1, 1, 0]}\n")
        assert load(write).digest == digests["base"]


def test_a_tolerance_is_part_of_the_digest(tmp_path) -> None:
    some = {"train": [{"id": "a", "input": "x", "answer": 1}], "val": [{"id": "b", "input": "y", "answer": 1.5}]}
    first = environment(tmp_path / "a", "scorer: numeric\n", **some)
    second = environment(tmp_path / "b", "scorer: numeric\ntolerance: 0.1\n", **some)
    assert first.digest != second.digest


def test_code_counts_only_where_it_scores(tmp_path) -> None:
    plain = environment(tmp_path / "a").digest
    assert environment(tmp_path / "b", files={"generate.py": "x = 1\n"}).digest == plain
    code = "def score(reply, task):\n    return 1\n"
    first = environment(tmp_path / "c", "scorer: python:score.py\n", files={"score.py": code}).digest
    second = environment(tmp_path / "d", "scorer: python:score.py\n", files={"score.py": code, "lib/h.py": ""}).digest
    assert len({plain, first, second}) == 3
