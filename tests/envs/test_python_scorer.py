"""A user's scorer runs apart: whatever it does, an attempt fails, and nothing else."""

import asyncio
import json
import os
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from support.environments import task

from skillgit.envs.python_scorer import PythonScorer
from skillgit.errors import ConfigError, EnvironmentFailedError


def scorer(tmp_path: Path, code: str, **limits) -> PythonScorer:
    path = tmp_path / "score.py"
    path.write_text(code, encoding="utf-8")
    return PythonScorer(path, "envs/x/score.py", **limits)


async def score(own: PythonScorer, reply: str = "right", **fields):
    try:
        return await own.score(reply, task(**fields))
    finally:
        await own.close()


async def test_it_gets_the_reply_and_the_whole_row(tmp_path) -> None:
    own = scorer(
        tmp_path,
        "def score(reply, task):\n"
        "    return {'hard': reply == task['answer'], 'soft': 0.5, 'reason': f\"{task['level']} {reply}\"}\n",
    )
    own.check()
    found = await score(own, "Größe \u2028", answer="Größe \u2028", level=3)
    assert (found.hard, found.soft, found.reason) == (1, Fraction(1, 2), "3 Größe \u2028")
    assert own.name == "python:score.py"


async def test_a_number_is_exact(tmp_path) -> None:
    found = await score(scorer(tmp_path, "def score(reply, task):\n    return 0.1\n"))
    assert (found.hard, found.soft) == (0, Fraction(1, 10))


async def test_prints_do_not_reach_us_nor_break_the_protocol(tmp_path, capfd) -> None:
    code = (
        "import os, sys\nprint('loading')\n"
        "def score(reply, task):\n"
        "    print('{\"hard\": \"1\"}' * 10000)\n    os.write(1, b'raw\\n')\n    os.write(2, b'raw' * 100000)\n"
        "    assert sys.stdin.read() == ''\n    return 0\n"
    )
    own = scorer(tmp_path, code)
    own.check()
    assert (await score(own)).hard == 0
    assert capfd.readouterr() == ("", "")


async def test_it_sees_none_of_our_secrets_and_works_in_an_empty_folder_that_goes_away(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "elsewhere"))
    code = (
        "import json, os\n"
        "def score(reply, task):\n"
        "    found = {'env': sorted(os.environ), 'cwd': os.getcwd(), 'files': os.listdir()}\n"
        "    found['home'] = os.environ['HOME']\n"
        "    open('left.txt', 'w').write('x')\n    os.mkdir('sub')\n    os.chdir('sub')\n"
        "    return {'soft': 1, 'reason': json.dumps(found)}\n"
    )
    own = scorer(tmp_path, code)
    first = json.loads((await own.score("", task())).reason)
    second = json.loads((await own.score("", task())).reason)
    await own.close()
    assert set(first["env"]) <= {"PATH", "HOME", "LANG", "TMPDIR", "TEMP", "SYSTEMROOT", "LC_CTYPE"}
    assert first["home"] == first["cwd"] == second["cwd"]
    assert first["files"] == second["files"] == []
    assert not Path(first["cwd"]).exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["score.py"]


async def test_it_may_import_what_lies_beside_it(tmp_path) -> None:
    (tmp_path / "helper.py").write_text("def right(reply): return reply == 'right'\n")
    own = scorer(tmp_path, "from helper import right\ndef score(reply, task):\n    return right(reply)\n")
    assert (await score(own)).hard == 1
    assert not (tmp_path / "__pycache__").exists()


BROKEN = {
    "syntax": ("def score(reply, task)\n    return 1\n", "SyntaxError"),
    "import": ("import no_such_module_at_all\n", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
    "missing": ("def scores(reply, task):\n    return 1\n", "no function score(reply, task)"),
    "no-function": ("score = 1\n", "no function score(reply, task)"),
    "exit": ("import sys\nsys.exit(0)\n", "ended without an answer"),
}


@pytest.mark.parametrize(("code", "said"), BROKEN.values(), ids=BROKEN)
def test_code_that_cannot_be_loaded_is_a_config_error(tmp_path, code, said) -> None:
    with pytest.raises(ConfigError) as caught:
        scorer(tmp_path, code).check()
    assert str(caught.value).startswith("envs/x/score.py: loading ")
    assert said in str(caught.value)


FAILS = {
    "raises": ("raise ValueError('no\\nway')", "way"),
    "exits": ("sys.exit(0)", "ended without an answer"),
    "crashes": ("os.abort()", "ended without an answer"),
    "closes-everything": ("os.closerange(0, 50)\n    return 1", "scoring"),
    "deep": ("return score(reply, task)", "RecursionError"),
    "text": ("return 'good'", "TypeError"),
    "none": ("return None", "TypeError"),
    "nan": ("return float('nan')", "a score is 'nan'"),
    "infinite": ("return {'hard': 1, 'soft': float('inf')}", "a score is 'inf'"),
    "above": ("return 1.5", "outside 0..1"),
    "below": ("return -1", "outside 0..1"),
    "unknown-key": ("return {'score': 1}", "use hard, soft, reason"),
    "large-file": ("open('x', 'wb').truncate(2**40)", "OSError"),
}


@pytest.mark.parametrize(("code", "said"), FAILS.values(), ids=FAILS)
async def test_a_failing_score_fails_its_attempt_and_the_next_one_works(tmp_path, code, said) -> None:
    own = scorer(
        tmp_path,
        f"import os, sys\ndef score(reply, task):\n    if reply == 'right':\n        return 1\n    {code}\n",
        time_limit_s=20,
    )
    with pytest.raises(EnvironmentFailedError) as caught:
        await own.score("wrong", task())
    assert str(caught.value).startswith("envs/x/score.py: tasks.jsonl:1: ")
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert (await score(own)).hard == 1


async def test_a_hang_ends_with_all_that_it_started(tmp_path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "def score(reply, task):\n"
        "    if reply == 'right':\n        return 1\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "    open(task['note'], 'w').write(str(child.pid))\n"
        "    while True:\n        time.sleep(1)\n"
    )
    own = scorer(tmp_path, code, time_limit_s=1)
    with pytest.raises(EnvironmentFailedError, match=r"scoring took more than 1 s"):
        await own.score("wrong", task(note=str(tmp_path / "pid")))
    child = int((tmp_path / "pid").read_text())
    assert await gone(child)
    assert (await score(own)).hard == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on memory there")
async def test_memory_is_limited(tmp_path) -> None:
    own = scorer(tmp_path, "def score(reply, task):\n    return len(bytearray(2**31))\n", memory_limit=2**30)
    with pytest.raises(EnvironmentFailedError, match="MemoryError"):
        await score(own)


async def test_a_cancelled_attempt_ends_its_worker_at_once(tmp_path) -> None:
    code = (
        "import os, time\n"
        "def score(reply, task):\n    open(task['note'], 'w').write(str(os.getpid()))\n    time.sleep(600)\n"
    )
    own = scorer(tmp_path, code)
    note = tmp_path / "pid"
    attempt = asyncio.create_task(own.score("x", task(note=str(note))))
    for _ in range(3000):
        if note.exists() and note.read_text():
            break
        await asyncio.sleep(0.01)
    started = time.monotonic()
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt
    await own.close()
    assert time.monotonic() - started < 10
    assert await gone(int(note.read_text()))


async def test_many_at_once_reuse_few_processes(tmp_path) -> None:
    own = scorer(tmp_path, "import os\ndef score(reply, task):\n    return {'soft': 1, 'reason': str(os.getpid())}\n")
    found = await asyncio.gather(*(own.score(str(n), task()) for n in range(40)))
    await own.close()
    assert all(each.soft == 1 for each in found)
    assert len({each.reason for each in found}) <= 4


def test_it_works_again_in_another_event_loop(tmp_path) -> None:
    own = scorer(tmp_path, "def score(reply, task):\n    return reply == task['answer']\n")
    assert [asyncio.run(own.score(reply, task())).hard for reply in ("right", "wrong")] == [1, 0]
    asyncio.run(own.close())
    assert asyncio.run(score(own)).hard == 1


async def test_large_replies_pass(tmp_path) -> None:
    own = scorer(tmp_path, "def score(reply, task):\n    return len(reply) == 3_000_000\n")
    assert (await score(own, "é" * 3_000_000)).hard == 1


async def gone(pid: int) -> bool:
    """Whether a process ends within a few seconds; a zombie that nobody waits for has ended too."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        status = Path(f"/proc/{pid}/stat")
        if status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        await asyncio.sleep(0.05)
    return False
