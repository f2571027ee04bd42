"""`env.py`: an environment's own class, and what happens when its code is wrong."""

import asyncio
import sys

import pytest
from support.environments import Target, load, write_env

from skillgit.errors import ConfigError, EnvironmentFailedError, ModelError

TWO_TURNS = '''
from dataclasses import dataclass

from skillgit.envs import Attempt, DeclarativeEnvironment
from skillgit.models.base import Request, Turn

from .helper import FOLLOW_UP


@dataclass
class Note:
    text: str


class Environment(DeclarativeEnvironment):
    """Asks twice; the second reply counts."""

    async def attempt(self, skill, task, target):
        request = self.request(skill, task)
        first = await target(request)
        turns = (*request.turns, Turn("assistant", first.text), Turn("user", Note(FOLLOW_UP).text))
        reply = await target(Request(request.system, turns))
        answer, score = await self.judge(reply, task, calls=("Bash",))
        return Attempt(reply.text, answer, score, first.usage + reply.usage, ("Bash",), turns)
'''
HELPER = {"helper.py": "FOLLOW_UP = 'Are you sure?'\n"}


def write(folder, code, settings="", **more):
    return write_env(folder, settings, files={"env.py": code, **HELPER}, **more)


def own(method: str) -> str:
    body = "\n".join(f"    {line}" for line in method.splitlines())
    return f"from skillgit.envs import *\nclass Environment(DeclarativeEnvironment):\n{body}\n"


async def test_an_attempt_of_many_turns(tmp_path) -> None:
    found = load(write(tmp_path, TWO_TURNS))
    target = Target(lambda request: "word 0" if len(request.turns) == 3 else "hm")
    attempt = await found.attempt("doc", found.tasks("train")[0], target)
    assert attempt.score.hard == 1
    assert [turn.text for turn in target.requests[1].turns] == ["train 0?", "hm", "Are you sure?"]
    assert attempt.usage.calls == 2
    assert found.scorer == "exact"
    assert found.explain(found.tasks("train")[0], attempt).text == "word 0"
    await found.close()


def test_it_is_loaded_under_a_private_name_and_leaves_nothing_behind(tmp_path) -> None:
    path = list(sys.path)
    load(write(tmp_path, TWO_TURNS))
    assert sys.path == path
    assert "env" not in sys.modules
    assert "helper" not in sys.modules
    assert "envs" not in sys.modules
    assert not list(tmp_path.rglob("__pycache__"))


async def test_loading_again_reads_the_code_again(tmp_path) -> None:
    load(write(tmp_path, TWO_TURNS))
    (tmp_path / "helper.py").write_text("FOLLOW_UP = 'Really?'\n")
    found = load(tmp_path)
    target = Target("x")
    await found.attempt("", found.tasks("train")[0], target)
    assert target.requests[1].turns[-1].text == "Really?"


def test_its_code_is_part_of_the_digest(tmp_path) -> None:
    first = load(write(tmp_path, TWO_TURNS)).digest
    (tmp_path / "helper.py").write_text("FOLLOW_UP = 'Really?'\n")
    assert load(tmp_path).digest != first


async def test_it_may_call_tools_so_their_checks_are_allowed(tmp_path) -> None:
    found = load(write(tmp_path, TWO_TURNS, "scorer: checks\nchecks: [{op: tool_called, arg: Bash}]\n"))
    assert (await found.attempt("", found.tasks("train")[0], Target("done"))).score.hard == 1


def test_it_need_not_be_a_subclass(tmp_path) -> None:
    code = (
        "class Environment:\n"
        "    description, digest, scorer = 'mine', 'd' * 64, 'own'\n"
        "    def __init__(self, spec):\n        self._spec = spec\n"
        "    def tasks(self, split):\n        return self._spec.tasks[split]\n"
        "    async def attempt(self, skill, task, target):\n        pass\n"
        "    def explain(self, task, attempt):\n        pass\n"
        "    async def close(self):\n        pass\n"
    )
    found = load(write(tmp_path, code))
    assert (found.description, found.digest, found.scorer) == ("mine", "d" * 64, "own")
    assert len(found.tasks("val")) == 3


BROKEN = {
    "syntax": ("class Environment\n", "envs/x/env.py:1: SyntaxError"),
    "import": ("\nimport no_such_module_at_all\n", "envs/x/env.py:2: ModuleNotFoundError: No module named"),
    "raises": ("x = 1\ny = x / 0\n", "envs/x/env.py:2: ZeroDivisionError: division by zero"),
    "exits": ("raise SystemExit(3)\n", "envs/x/env.py:1: SystemExit: 3"),
    "no-class": ("class Env:\n    pass\n", "envs/x/env.py: there is no class Environment"),
    "a-function": ("def Environment(spec):\n    pass\n", "envs/x/env.py: there is no class Environment"),
    "lacks": ("class Environment:\n    def __init__(self, spec):\n        pass\n", "Environment has no description"),
    "no-argument": ("class Environment:\n    pass\n", "envs/x/env.py: TypeError"),
    "construction": (own("def __init__(self, spec):\n    raise KeyError('a\\nb')"), "envs/x/env.py:4: KeyError"),
    "tasks": (own("def tasks(self, split):\n    return [1]"), "something else than Task objects"),
    "no-val": (own("def tasks(self, split):\n    return ()"), "the split train has no tasks"),
    "overlap": (own("def tasks(self, split):\n    return self.spec.tasks['train']"), "is also the id of"),
}


@pytest.mark.parametrize(("code", "said"), BROKEN.values(), ids=BROKEN)
def test_code_that_cannot_be_used_is_a_config_error(tmp_path, code, said) -> None:
    with pytest.raises(ConfigError) as caught:
        load(write(tmp_path, code))
    message = str(caught.value)
    assert message.startswith("envs/x/")
    assert said in message
    assert len(message.splitlines()) == 1


FAILS = {
    "raises": ("raise KeyError('gone')", "envs/x/env.py:4: KeyError: 'gone'"),
    "exits": ("raise SystemExit(1)", "SystemExit"),
    "nothing": ("return None", "attempt returned NoneType, not an Attempt"),
    "score": ("return Attempt('', '', Score(2, 2))", "a score is 2, outside 0..1"),
    "nan": ("return Attempt('', '', Score(0, float('nan')))", "a score is nan"),
}


@pytest.mark.parametrize(("body", "said"), FAILS.values(), ids=FAILS)
async def test_an_attempt_that_fails(tmp_path, body, said) -> None:
    found = load(write(tmp_path, own(f"async def attempt(self, skill, task, target):\n    {body}")))
    with pytest.raises(EnvironmentFailedError) as caught:
        await found.attempt("", found.tasks("train")[0], Target("x"))
    assert str(caught.value).startswith("envs/x/env.py")
    assert said in str(caught.value)


async def test_scores_become_exact(tmp_path) -> None:
    body = "return Attempt('', '', Score(1.0, 0.1, 'why'))"
    found = load(write(tmp_path, own(f"async def attempt(self, skill, task, target):\n    {body}")))
    attempt = await found.attempt("", found.tasks("train")[0], Target("x"))
    assert attempt.score.soft.as_integer_ratio() == (1, 10)
    assert attempt.score.reason == "why"


async def test_errors_of_the_target_and_cancellation_pass(tmp_path) -> None:
    found = load(write(tmp_path, own("async def attempt(self, skill, task, target):\n    await target(None)")))

    async def dead(_):
        raise ModelError("no connection")

    async def stopped(_):
        raise asyncio.CancelledError

    with pytest.raises(ModelError):
        await found.attempt("", found.tasks("train")[0], dead)
    with pytest.raises(asyncio.CancelledError):
        await found.attempt("", found.tasks("train")[0], stopped)


HALF = """
async def attempt(self, skill, task, target):
    reply = await target(self.request(skill, task))
    turns = (Turn("user", "u\\ud800"),)
    return Attempt("r\\ud800", "a\\ud800", Score(1, 1, "s\\ud800"), reply.usage, ("c\\ud800",), turns)

def explain(self, task, attempt):
    return Explanation("reason", "e\\ud800")
"""


async def test_text_that_cannot_be_written_is_made_so(tmp_path) -> None:
    """Evidence, prompts and journals are UTF-8."""
    code = "from skillgit.models.base import Turn\nfrom skillgit.envs.contract import *\n" + own(HALF)
    found = load(write(tmp_path, code))
    task = found.tasks("train")[0]
    attempt = await found.attempt("", task, Target("x"))
    assert (attempt.reply, attempt.answer, attempt.score.reason, attempt.calls, attempt.transcript[0].text) == (
        "r\ufffd",
        "a\ufffd",
        "s\ufffd",
        ("c\ufffd",),
        "u\ufffd",
    )
    assert found.explain(task, attempt).text == "e\ufffd"
